// etcd as upstream's server/main.go, with a lifeline to the test that started it.
package main

import (
	"os"

	_ "rollcall.dev/test/servers/lifeline"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
