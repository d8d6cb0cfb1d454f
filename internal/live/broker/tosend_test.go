package broker

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/observe/history"
)

func TestWhatAMoveSendsIsWhatItSentLastTime(t *testing.T) {
	save := func(program string, bytes, sent int64) history.Transfer {
		return history.Transfer{What: history.Save, Method: "sandbox", Program: program, Bytes: bytes, Sent: sent, Seconds: 1}
	}
	like := history.Transfer{What: history.Save, Method: "sandbox", Program: "burn"}
	for _, c := range []struct {
		name string
		rows []history.Transfer
		want int64
	}{
		{"nothing was ever saved", nil, 1000},
		{"another program, of which a tenth was new", []history.Transfer{save("pi", 500, 50)}, 100},
		{"the same program; the newest counts",
			[]history.Transfer{save("burn", 500, 7), save("pi", 500, 50), save("burn", 500, 9)}, 7},
		{"another method", []history.Transfer{{What: history.Save, Method: "signal", Program: "burn", Bytes: 10, Sent: 1}},
			1000},
	} {
		if got := unsentBytes(c.rows, like, 1000); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
