package lab

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
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
	case "part-work": // SECONDS: how much of a loop was done in that time
		err = work(args[1])
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
	c, err := net.DialTimeout("tcp4", address+":7070", 20*time.Second)
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
	c, err := net.DialTimeout("tcp4", address+":7070", 20*time.Second)
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

func work(seconds string) error {
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	n := 0
	for begin := time.Now(); time.Since(begin).Seconds() < s; n++ {
		for range 10000 {
		}
	}
	fmt.Println(n)
	return nil
}
