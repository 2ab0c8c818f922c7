package main

import (
	"crypto/tls"
	"net/http"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// renewals is what an administrator changes of a vCenter that runs: the account's password and the certificate.
type renewals struct {
	server *simulator.Server
	file   string

	mu       sync.Mutex
	user     string
	password string
	logins   []login
	lockout  lockout
	tls      *tls.Config
	// next is made and not shown yet.
	next *tls.Config
}

// login is one attempt, by SOAP or REST.
type login struct {
	User     string `json:"user"`
	Password string `json:"password"`
	Accepted bool   `json:"accepted"`
}

// renewable lets the account and the certificate be changed later. It must come before the server is made.
func renewable(service *simulator.Service, file string) *renewals {
	user := service.Listen.User
	password, _ := user.Password()
	r := &renewals{file: file, user: user.Username(), password: password, logins: []login{}}
	service.Context.Map.SessionManager().ValidLogin = r.valid
	// Not GetCertificate: nobody asks it for a client that names no host.
	service.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.tls, nil
	}
	return r
}

func (r *renewals) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /password", answer(func(request *http.Request) (any, error) {
		var asked struct {
			Password string `json:"password"`
		}
		if err := decode(request, &asked); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.password = asked.Password
		return nil, nil
	}))
	mux.HandleFunc("PUT /lockout", answer(func(request *http.Request) (any, error) {
		var asked lockout
		if err := decode(request, &asked); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lockout = asked
		return nil, nil
	}))
	mux.HandleFunc("GET /lockout", answer(func(*http.Request) (any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return map[string]bool{"locked": r.lockout.isLocked(time.Now())}, nil
	}))
	mux.HandleFunc("GET /logins", answer(func(*http.Request) (any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return append([]login{}, r.logins...), nil
	}))
	mux.HandleFunc("POST /certificate", answer(func(request *http.Request) (any, error) {
		var asked struct {
			ValidSeconds int `json:"validSeconds"`
		}
		if err := decode(request, &asked); err != nil {
			return nil, err
		}
		renewed, err := selfSigned(r.file, time.Duration(asked.ValidSeconds)*time.Second)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.next = renewed
		return nil, nil
	}))
	mux.HandleFunc("PUT /certificate", answer(func(*http.Request) (any, error) {
		r.mu.Lock()
		r.tls = r.next
		r.mu.Unlock()
		// As a restart of the service does, without which nobody would see the new one.
		r.server.CloseClientConnections()
		return nil, nil
	}))
}

func (r *renewals) valid(request *types.Login) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	right := request.UserName == r.user && request.Password == r.password
	accepted := r.lockout.judge(right, time.Now())
	r.logins = append(r.logins, login{User: request.UserName, Password: request.Password, Accepted: accepted})
	return accepted
}
