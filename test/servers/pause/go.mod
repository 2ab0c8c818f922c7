module rollcall.dev/test/servers/pause

go 1.26
