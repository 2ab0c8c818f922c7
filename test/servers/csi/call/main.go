// Command csi-call makes one call of a CSI driver: csi-call SOCKET SERVICE/METHOD, with the request as JSON on its input.
//
// It writes the answer as JSON, or on standard error what the driver says, and fails.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	_ "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// patience is more than the driver's own: a Node's topology, for one, it waits for a minute.
const patience = 3 * time.Minute

func main() {
	if len(os.Args) != 3 {
		fail("usage: csi-call SOCKET SERVICE/METHOD")
	}
	answer, err := call(os.Args[1], os.Args[2])
	if err != nil {
		if said, ok := status.FromError(err); ok {
			fail(fmt.Sprintf("%s: %s", said.Code(), said.Message()))
		}
		fail(err.Error())
	}
	fmt.Println(string(answer))
}

func call(socket, method string) ([]byte, error) {
	request, answer, err := messages(method)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	if err := protojson.Unmarshal(body, request); err != nil {
		return nil, err
	}
	connection, err := grpc.Dial("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// The messages of the driver's time are of the first version of their library's interface.
	in, out := protoadapt.MessageV1Of(request), protoadapt.MessageV1Of(answer)
	if err := connection.Invoke(ctx, "/csi.v1."+method, in, out); err != nil {
		return nil, err
	}
	return protojson.Marshal(answer)
}

// messages makes the empty request and answer of a method, "Node/NodeGetInfo" for one.
func messages(method string) (request, answer proto.Message, err error) {
	name := protoreflect.FullName("csi.v1." + strings.ReplaceAll(method, "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, nil, fmt.Errorf("method %q: %w", method, err)
	}
	descriptor, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, nil, fmt.Errorf("%q is no method", method)
	}
	if request, err = message(descriptor.Input()); err != nil {
		return nil, nil, err
	}
	answer, err = message(descriptor.Output())
	return request, answer, err
}

func message(descriptor protoreflect.MessageDescriptor) (proto.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(descriptor.FullName())
	if err != nil {
		return nil, err
	}
	return kind.New().Interface(), nil
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}
