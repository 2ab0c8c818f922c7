package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	xmlType = "text/xml; charset=utf-8"
	header  = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	open    = `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"` +
		` xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>`
	end = `</soapenv:Body></soapenv:Envelope>`

	hugeBytes = 50 << 20
)

// answers are the ways in which a call can go wrong.
var answers = map[string]func(f *fault, w http.ResponseWriter, c *call, next http.Handler){
	"status":   (*fault).status,
	"fault":    (*fault).soapFault,
	"empty":    (*fault).empty,
	"hang":     (*fault).hang,
	"delay":    (*fault).delay,
	"late":     (*fault).late,
	"lost":     (*fault).lose,
	"cut":      (*fault).cut,
	"spoiled":  (*fault).spoiled,
	"reset":    (*fault).reset,
	"truncate": (*fault).truncate,
	"abort":    (*fault).abort,
	"html":     (*fault).html,
	"doctype":  (*fault).doctype,
	"huge":     (*fault).huge,
}

func (f *fault) answer(w http.ResponseWriter, c *call, next http.Handler) {
	answers[f.Kind](f, w, c, next)
}

func (f *fault) status(w http.ResponseWriter, _ *call, _ http.Handler) {
	http.Error(w, http.StatusText(f.Status), f.Status)
}

// restStatus is how the REST side says what the SOAP side says by a fault.
var restStatus = map[string]int{
	"NoPermission":          http.StatusForbidden,
	"NotAuthenticated":      http.StatusUnauthorized,
	"InvalidLogin":          http.StatusUnauthorized,
	"ManagedObjectNotFound": http.StatusNotFound,
}

var thisPattern = regexp.MustCompile(`<(?:\w+:)?_this[^>]*\btype="(\w+)"[^>]*>([^<]+)<`)

func (f *fault) soapFault(w http.ResponseWriter, c *call, _ http.Handler) {
	if !c.soap {
		status, ok := restStatus[f.Fault]
		if !ok {
			status = http.StatusInternalServerError
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"type":"com.vmware.vapi.std.errors.%s","value":{"messages":[]}}`, f.Fault)
		return
	}
	kind, value := "Folder", "group-d1"
	if this := thisPattern.FindSubmatch(c.body); this != nil {
		kind, value = string(this[1]), string(this[2])
	}
	if f.Object != "" {
		value = f.Object
		if strings.HasPrefix(value, "vm-") {
			kind = "VirtualMachine"
		}
	}
	var detail string
	switch f.Fault {
	case "NoPermission", "NotAuthenticated":
		detail = fmt.Sprintf(`<object type="%s">%s</object><privilegeId>System.View</privilegeId>`, kind, value)
	case "ManagedObjectNotFound":
		detail = fmt.Sprintf(`<obj type="%s">%s</obj>`, kind, value)
	}
	w.Header().Set("Content-Type", xmlType)
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, `%s%s<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>%[6]s</faultstring>`+
		`<detail><%[3]sFault xmlns="urn:vim25" xsi:type="%[3]s">%[4]s</%[3]sFault></detail></soapenv:Fault>%[5]s`,
		header, open, f.Fault, detail, end, cmp.Or(f.Text, f.Fault))
}

func (f *fault) empty(w http.ResponseWriter, c *call, _ http.Handler) {
	if !c.soap {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"value":[]}`)
		return
	}
	nothing(w, c.operation, "")
}

// nothing answers a SOAP call with as little as `result`, which may be nothing at all.
func nothing(w http.ResponseWriter, operation, result string) {
	w.Header().Set("Content-Type", xmlType)
	_, _ = fmt.Fprintf(w, `%s%s<%sResponse xmlns="urn:vim25">%s</%[3]sResponse>%[5]s`, header, open, operation, result, end)
}

// hang answers nothing until the client gives up or the fault is cleared.
func (f *fault) hang(_ http.ResponseWriter, c *call, _ http.Handler) {
	select {
	case <-c.request.Context().Done():
	case <-f.cleared:
	}
	panic(http.ErrAbortHandler)
}

// delay gives the right answer when its time is over or the fault is cleared.
func (f *fault) delay(w http.ResponseWriter, c *call, next http.Handler) {
	select {
	case <-c.request.Context().Done():
		panic(http.ErrAbortHandler)
	case <-time.After(time.Duration(f.Milliseconds) * time.Millisecond):
	case <-f.cleared:
	}
	next.ServeHTTP(w, c.request)
}

// late does what is asked at once, and answers when its time is over or the fault is cleared. Whoever has given up by then has
// had it done all the same.
func (f *fault) late(w http.ResponseWriter, c *call, next http.Handler) {
	recorded, body := record(c, next)
	select {
	case <-c.request.Context().Done():
		panic(http.ErrAbortHandler)
	case <-time.After(time.Duration(f.Milliseconds) * time.Millisecond):
	case <-f.cleared:
	}
	send(w, recorded, body)
}

// lose does what is asked, and answers with the status, or closes the connection where there is none.
func (f *fault) lose(w http.ResponseWriter, c *call, next http.Handler) {
	record(c, next)
	if f.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	f.status(w, c, next)
}

// cut passes an answer on that comes in time, as a proxy with a limit on silence does. Of a later one it answers with the status,
// or closes the connection where there is none; what was asked goes on.
func (f *fault) cut(w http.ResponseWriter, c *call, next http.Handler) {
	answered := make(chan func(), 1)
	going := *c
	going.request = c.request.WithContext(context.WithoutCancel(c.request.Context()))
	go func() {
		recorded, body := record(&going, next)
		answered <- func() { send(w, recorded, body) }
	}()
	select {
	case pass := <-answered:
		pass()
	case <-c.request.Context().Done():
		panic(http.ErrAbortHandler)
	case <-time.After(time.Duration(f.Milliseconds) * time.Millisecond):
		if f.Status == 0 {
			panic(http.ErrAbortHandler)
		}
		f.status(w, c, next)
	}
}

// spoiled answers with the fault, or not at all, where the answer would show the object, however that was selected.
func (f *fault) spoiled(w http.ResponseWriter, c *call, next http.Handler) {
	recorded, body := record(c, next)
	if !mentions(body, f.Object) {
		send(w, recorded, body)
		return
	}
	if f.Fault == "" {
		f.hang(w, c, next)
	}
	f.soapFault(w, c, next)
}

// reset drops the connection without the courtesies of TLS and TCP.
func (f *fault) reset(w http.ResponseWriter, _ *call, _ http.Handler) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// truncate answers half a document in a whole HTTP response, as a proxy that lost its upstream may do.
func (f *fault) truncate(w http.ResponseWriter, c *call, next http.Handler) {
	recorded, body := record(c, next)
	send(w, recorded, body[:len(body)/2])
}

// abort announces the whole document and closes the connection half-way.
func (f *fault) abort(w http.ResponseWriter, c *call, next http.Handler) {
	recorded, body := record(c, next)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	send(w, recorded, body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func (f *fault) html(w http.ResponseWriter, _ *call, _ http.Handler) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Sign in to go on<br></body></html>\n")
}

// doctype answers rightly but for a document type that defines an entity, and uses it.
func (f *fault) doctype(w http.ResponseWriter, c *call, next http.Handler) {
	recorded, body := record(c, next)
	_, rest, found := bytes.Cut(body, []byte("?>"))
	if !found {
		rest = body
	}
	send(w, recorded, append([]byte(header+`<!DOCTYPE bomb [<!ENTITY bomb "boom">]>`+"\n"), rest...))
}

// huge answers a document that goes on for 50 MB and ends as it should.
func (f *fault) huge(w http.ResponseWriter, c *call, _ http.Handler) {
	size := f.Bytes
	if size == 0 {
		size = hugeBytes
	}
	w.Header().Set("Content-Type", xmlType)
	_, _ = fmt.Fprintf(w, `%s%s<%sResponse xmlns="urn:vim25"><returnval>`, header, open, c.operation)
	block := []byte(strings.Repeat(`<objects><obj type="VirtualMachine">vm-0</obj><propSet><name>name</name>`+
		`<val xsi:type="xsd:string">`+strings.Repeat("x", 200)+`</val></propSet></objects>`, 100))
	for sent := 0; sent < size; sent += len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
	_, _ = fmt.Fprintf(w, `</returnval></%sResponse>%s`, c.operation, end)
}

func record(c *call, next http.Handler) (*httptest.ResponseRecorder, []byte) {
	recorder := httptest.NewRecorder()
	next.ServeHTTP(recorder, c.request)
	return recorder, recorder.Body.Bytes()
}

func send(w http.ResponseWriter, recorded *httptest.ResponseRecorder, body []byte) {
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(body)
}
