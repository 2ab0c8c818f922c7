module rollcall.dev/test/servers/csr-reader

go 1.26
