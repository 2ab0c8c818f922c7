module rollcall.dev/test/servers/lifeline

go 1.26
