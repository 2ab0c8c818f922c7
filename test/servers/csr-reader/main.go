// csr-reader says what Go makes of certificate requests, as the signer of kube-controller-manager reads them: it takes one
// in base64 of PEM per line, and answers with a line of JSON.
package main

import (
	"bufio"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
)

type answer struct {
	Refused       string   `json:"refused,omitempty"`
	CommonName    string   `json:"commonName"`
	Organizations []string `json:"organizations"`
	DNSNames      []string `json:"dnsNames"`
	Addresses     []string `json:"addresses"`
	// What else the certificate would have.
	Others     int `json:"others"`
	Extensions int `json:"extensions"`
}

func read(line string) answer {
	text, err := base64.StdEncoding.DecodeString(line)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return answer{Refused: "no PEM block of a certificate request"}
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	if err := request.CheckSignature(); err != nil {
		return answer{Refused: err.Error()}
	}
	addresses := []string{}
	for _, address := range request.IPAddresses {
		addresses = append(addresses, fmt.Sprintf("%x", []byte(address)))
	}
	subject := request.Subject
	return answer{
		CommonName:    subject.CommonName,
		Organizations: subject.Organization,
		DNSNames:      append([]string{}, request.DNSNames...),
		Addresses:     addresses,
		Others:        len(request.EmailAddresses) + len(request.URIs) + len(subject.Names) - len(subject.Organization) - 1,
		Extensions:    len(request.Extensions),
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := answers.Encode(read(lines.Text())); err != nil {
			panic(err)
		}
	}
}
