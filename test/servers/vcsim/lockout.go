package main

import "time"

// lockout is vCenter's policy of locking an account after failed logins. Without failures it locks nothing.
//
// Its rules are those of vCenter's directory: failures count from the first of them for so long, a login that succeeds
// ends the count, and a locked account refuses the right password too, until its time is over.
type lockout struct {
	Failures      int `json:"failures"`
	WithinSeconds int `json:"withinSeconds"`
	UnlockSeconds int `json:"unlockSeconds"`

	count  int
	first  time.Time
	locked time.Time
}

// judge tells whether a login is accepted that has the right credential, or has not.
func (l *lockout) judge(right bool, now time.Time) bool {
	if l.isLocked(now) {
		return false
	}
	if right || l.Failures == 0 {
		l.count = 0
		return right
	}
	if l.count == 0 || now.Sub(l.first) > time.Duration(l.WithinSeconds)*time.Second {
		l.count, l.first = 0, now
	}
	l.count++
	if l.count >= l.Failures {
		l.count, l.locked = 0, now
	}
	return false
}

func (l *lockout) isLocked(now time.Time) bool {
	return !l.locked.IsZero() && now.Sub(l.locked) <= time.Duration(l.UnlockSeconds)*time.Second
}
