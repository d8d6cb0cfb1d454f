package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if code, ours := RunRole(os.Args[1:]); ours {
		os.Exit(code)
	}
	if code, ours := part(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// bed makes a lab that is gone after the test.
func bed(t *testing.T, plan string) *Lab {
	t.Helper()
	p, err := ReadPlan("plan.yaml", []byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	return bedOf(t, p)
}

func bedOf(t *testing.T, p *Plan) *Lab {
	t.Helper()
	needRoot(t)
	t.Setenv("GODWIT_LABS", labsFolder(t))
	p.Name = labName(t)
	t.Cleanup(func() {
		if err := RemoveLab(context.Background(), p.Name); err != nil {
			t.Error(err)
		}
	})
	l, err := CreateLab(context.Background(), p, Options{NoManager: true})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func labName(t *testing.T) string {
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, t.Name()))
	return fmt.Sprintf("t%d-%s", os.Getpid(), name[:min(len(name), 20)])
}

func needRoot(t *testing.T) {
	t.Helper()
	if err := CheckAble(); err != nil {
		t.Skip(err)
	}
}

// output runs a command on a host.
func output(t *testing.T, h *Host, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := h.Command(ctx, argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v on %s: %v: %s", argv, h.Name, err, out)
	}
	return string(out)
}

func host(t *testing.T, l *Lab, name string) *Host {
	t.Helper()
	h, err := l.FindHost(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
