package lab

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// part is what the test binary does when it runs on a host.
func part(args []string) (code int, ours bool) {
	if len(args) == 0 || len(args[0]) < 5 || args[0][:5] != "part-" {
		return 0, false
	}
	var err error
	switch args[0] {
	case "part-serve":
		err = serve()
	case "part-send": // ADDRESS BYTES: seconds taken
		err = send(args[1], args[2])
	case "part-reply": // ADDRESS N: mean seconds of a round trip
		err = reply(args[1], args[2])
	case "part-reach": // ADDRESS: whether it answers within a second
		err = reach(args[1])
	case "part-work": // SECONDS: processor time got in a second
		err = work(args[1])
	case "part-up": // FILE NAME
		err = up(args[1], args[2])
	default:
		err = fmt.Errorf("no part %s", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// serve answers the first byte of each connection, then swallows all there is
// and answers with a byte at the end.
func serve() error {
	l, err := net.Listen("tcp4", ":7070")
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			one := make([]byte, 1)
			for {
				if _, err := io.ReadFull(c, one); err != nil {
					return
				}
				if one[0] == 'd' { // data to its end
					io.Copy(io.Discard, c)
				}
				if _, err := c.Write(one); err != nil {
					return
				}
			}
		}()
	}
}

func send(address, bytes string) error {
	n, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp4", address+":7070", time.Minute)
	if err != nil {
		return err
	}
	defer c.Close()
	begin := time.Now()
	buf := make([]byte, 256<<10)
	buf[0] = 'd'
	for left := n; left > 0; left -= int64(len(buf)) {
		if _, err := c.Write(buf); err != nil {
			return err
		}
	}
	c.(*net.TCPConn).CloseWrite()
	if _, err := io.ReadFull(c, buf[:1]); err != nil {
		return err
	}
	fmt.Println(time.Since(begin).Seconds())
	return nil
}

func reply(address, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp4", address+":7070", time.Minute)
	if err != nil {
		return err
	}
	defer c.Close()
	one := []byte{'p'}
	least := time.Hour // others use this machine too: the quickest is the line's own
	for range n {
		begin := time.Now()
		if _, err := c.Write(one); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, one); err != nil {
			return err
		}
		least = min(least, time.Since(begin))
	}
	fmt.Println(least.Seconds())
	return nil
}

func reach(address string) error {
	c, err := net.DialTimeout("tcp4", address+":7070", time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte{'p'}); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

// work spins and says how much processor time it got in a second.
func work(seconds string) error {
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	used := func() float64 {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	begin, before := time.Now(), used()
	for time.Since(begin).Seconds() < s {
		for range 10000 {
		}
	}
	fmt.Println((used() - before) / time.Since(begin).Seconds())
	return nil
}

// up makes a lab and says so.
func up(file, name string) error {
	p, err := LoadPlan(file)
	if err != nil {
		return err
	}
	p.Name = name
	_, err = CreateLab(context.Background(), p, Options{NoManager: true})
	return err
}
