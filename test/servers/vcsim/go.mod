module rollcall.dev/test/servers/vcsim

go 1.26

require (
	github.com/google/uuid v1.6.0
	github.com/vmware/govmomi v0.55.1
	rollcall.dev/test/servers/lifeline v0.0.0
)

replace rollcall.dev/test/servers/lifeline => ../lifeline
