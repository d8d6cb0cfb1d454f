package netgraph

import (
	"strings"
	"testing"
)

const twoClusters = `<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
    <link id="fast" bandwidth="125MBps" latency="1ms"/><link id="slow" bandwidth="12.5MBps" latency="10ms"/>
    <route src="a" dst="b"><link_ctn id="fast"/></route>
    <route src="b" dst="c"><link_ctn id="fast"/><link_ctn id="slow"/></route>
  </zone>
</platform>`

func TestASimGridPlatformIsANetworkOfItsRoutes(t *testing.T) {
	n, err := ParseNetwork("p.xml", []byte(twoClusters))
	if err != nil {
		t.Fatal(err)
	}
	b, err := n.WidestBandwidths()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, h := range n.Hosts {
		at[h] = i
	}
	for _, c := range []struct {
		from, to string
		mbps     float64
	}{{"a", "b", 1000}, {"b", "c", 100}, {"a", "c", 0}} {
		if got := b.PairBandwidth(at[c.from], at[c.to]); got != c.mbps {
			t.Errorf("%s-%s: %g Mbit/s, want %g", c.from, c.to, got, c.mbps)
		}
	}
}

func TestAPlatformOfOneHostIsRefusedInOneLine(t *testing.T) {
	_, err := ParseNetwork("p.xml",
		[]byte(`<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf"/></zone></platform>`))
	if err == nil || !strings.Contains(err.Error(), "p.xml") || !strings.Contains(err.Error(), "from 2 to 2000 hosts") {
		t.Errorf("%v", err)
	}
}
