package wire

import (
	"fmt"
	"time"
)

// A driver that starts an agent beside itself gives it a line, a socket of
// packets. An agent that is through with its folder (all told and acknowledged,
// its lock given back, no process left) says so there and waits for the path of
// another folder. When the driver's end is closed it leaves. So the start of a
// process is paid for once for many short attempts.

// LineVariable is the environment variable that tells an agent which of its open
// files is the line. Without it an agent leaves when it is through.
const LineVariable = "GODWIT_LINE"

// LongestLine is how long a packet can be.
const LongestLine = 8 << 10

// Through is what an agent says on the line: what it, and the processes it waited
// for, have used for the folder in CPU time.
type Through struct{ Own, Children time.Duration }

const throughFormat = "through %d %d\n"

// EncodePacket is how it is sent.
func (t Through) EncodePacket() []byte {
	return fmt.Appendf(nil, throughFormat, t.Own.Nanoseconds(), t.Children.Nanoseconds())
}

// ParseThrough reads a packet.
func ParseThrough(packet []byte) (Through, error) {
	var t Through
	_, err := fmt.Sscanf(string(packet), throughFormat, &t.Own, &t.Children)
	if err != nil || t.Own < 0 || t.Children < 0 {
		return Through{}, fmt.Errorf("an agent said %.80q on its line", packet)
	}
	return t, nil
}
