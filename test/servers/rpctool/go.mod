module rollcall.dev/test/servers/rpctool

go 1.26
