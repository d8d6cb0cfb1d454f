package wire

import (
	"testing"
	"time"
)

func FuzzThrough(f *testing.F) {
	f.Add(Through{time.Millisecond, 3}.EncodePacket())
	f.Add([]byte("through -1 5\n"))
	f.Add([]byte("through 1\n"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		said, err := ParseThrough(packet)
		if err != nil {
			return
		}
		if again, err := ParseThrough(said.EncodePacket()); err != nil || again != said || said.Own < 0 || said.Children < 0 {
			t.Errorf("%q is read as %v, then as %v, %v", packet, said, again, err)
		}
	})
}
