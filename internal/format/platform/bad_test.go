package platform

import (
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// A wrong file and the one line that the user gets.
type wrong struct{ text, message string }

func wantMessages(t *testing.T, file string, cases []wrong) {
	t.Helper()
	for _, c := range cases {
		p, err := Parse(file, []byte(c.text))
		switch {
		case err == nil:
			t.Errorf("%s\nis accepted: %v", c.text, p.Clusters)
		case !badinput.Is(err):
			t.Errorf("%s\n%v is not a badinput error", c.text, err)
		case err.Error() != file+":"+c.message && err.Error() != file+": "+c.message:
			t.Errorf("%s\ngot  %s\nwant %s:%s", c.text, err, file, c.message)
		case strings.Contains(err.Error(), "\n"):
			t.Errorf("%s\nmore than one line: %s", c.text, err)
		}
	}
}

func TestAWrongYAMLFileIsToldByLineFieldAndValue(t *testing.T) {
	const (
		a   = "clusters: [{name: a, hosts: 1}]\n"
		two = "clusters: [{name: uh, hosts: 1}, {name: utk, hosts: 1}]\n"
	)
	in := func(fields string) string { return "clusters: [{name: a, " + fields + "}]" }
	wantMessages(t, "p.yaml", []wrong{
		{"", "the file is empty, expected a platform description"},
		{"  \n# nothing\n", "the file is empty, expected a platform description"},
		{"---\n", "the file is empty, expected a platform description"},
		{"just text", `1: "just text": expected a mapping of name, clusters, links, files, routing`},
		{"- a", `1: "[…]": expected a mapping of name, clusters, links, files, routing`},
		{"name: x", "1: clusters: missing, expected a list of clusters"},
		{"clusters: []", "1: clusters: expected at least one cluster; the list is empty"},
		{"clusters: 7", `1: clusters "7": expected a list of clusters`},
		{"clusters: [a]", `1: clusters[0] "a": expected a mapping of name, hosts, cores, speed, memory, link, local, queue, keep_free, grow_free, reserve`},
		{a + "---\nclusters: []\n", "2: a second YAML document begins here, expected one"},
		{"clusters:\n\t- name: a", "2: not valid YAML: found character that cannot start any token"},
		{"clusters: [{name: a, hosts: 1}", "1: not valid YAML: did not find expected ',' or ']'"},
		{"clusters: *x", "not valid YAML: unknown anchor 'x' referenced"},
		{"\x00\x01", "not valid YAML: control characters are not allowed"},
		{"clusters: &a [*a]", `1: "*a": expected an alias of a value that does not contain it`},

		{a + "clusters: []", "2: clusters: not twice: the field stands in line 1 already"},
		{"clusters:\n  - name: a\n    hosts: 1\n    core: 2", "4: clusters[0].core: unknown field, did you mean cores?"},
		{"clusters:\n  - name: a\n    hosts: 1\n    keepfree: 2",
			"4: clusters[0].keepfree: unknown field, did you mean keep_free?"},
		{in("hosts: 1, bandwidth: 2"),
			"1: clusters[0].bandwidth: unknown field, known are name, hosts, cores, speed, memory, link, local, queue, keep_free, " +
				"grow_free, reserve"},
		{a + "link: []", "2: link: unknown field, did you mean links?"},
		{in("hosts: 1, <<: {cores: 2}"), "1: clusters[0].<<: not supported: merge keys; write the fields out"},
		{in("hosts: [{nme: h1}]"), "1: clusters[0].hosts[0].nme: unknown field, did you mean name?"},

		{"clusters: [{hosts: 1}]", "1: clusters[0].name: missing, expected the cluster's name"},
		{"clusters: [{name: a}]", "1: clusters[0].hosts: missing, expected a number of hosts, or a list of {name, cores, " +
			"speed, memory}"},
		{"clusters: [{name: a b, hosts: 1}]",
			`1: clusters[0].name "a b": expected a name of letters, digits and . _ - (at most 200)`},
		{in("hosts: 0"), `1: clusters[0].hosts "0": expected a whole number from 1 to 1000000`},
		{in("hosts: -4"), `1: clusters[0].hosts "-4": expected a whole number from 1 to 1000000`},
		{in("hosts: 1.5"), `1: clusters[0].hosts "1.5": expected a whole number from 1 to 1000000`},
		{in("hosts: 1000000000"), `1: clusters[0].hosts "1000000000": expected a whole number from 1 to 1000000`},
		{in("hosts: {n: 3}"), `1: clusters[0].hosts "{…}": expected a number of hosts, or a list of {name, cores, speed, memory}`},
		{in("hosts: []"), "1: clusters[0].hosts: expected at least one host; the list is empty"},
		{in("hosts: [h1]"), `1: clusters[0].hosts[0] "h1": expected a mapping of name, cores, speed, memory`},
		{in("hosts: 1000, cores: 1000000"),
			`1: clusters[0].hosts "1000": expected at most 10000000 cores in all clusters together`},
		{"clusters: [{name: a, hosts: 1000000}, {name: b, hosts: 1}]",
			`1: clusters[1].hosts "1": expected at most 1000000 hosts in all clusters together`},
		{in("hosts: 1, cores: 0"), `1: clusters[0].cores "0": expected a whole number from 1 to 1000000`},
		{in("hosts: 1, speed: .nan"), `1: clusters[0].speed ".nan": expected a number above 0 and up to 1000000000`},
		{in("hosts: 1, speed: .inf"), `1: clusters[0].speed ".inf": expected a number above 0 and up to 1000000000`},
		{in("hosts: 1, speed: -1"), `1: clusters[0].speed "-1": expected a number above 0 and up to 1000000000`},
		{in("hosts: 1, memory: 4X"), `1: clusters[0].memory "4X": expected a number of bytes such as 4G, 512M or 4096`},
		{in("hosts: 1, memory: 0"), `1: clusters[0].memory "0": expected a number of bytes such as 4G, 512M or 4096`},
		{in("hosts: 1, link: 1000"), `1: clusters[0].link "1000": expected a mapping of mbps, ms`},
		{in("hosts: 1, link: {mbps: 0}"), `1: clusters[0].link.mbps "0": expected a number above 0 and up to 1000000000000`},
		{in("hosts: 1, link: {ms: -1}"), `1: clusters[0].link.ms "-1": expected a number from 0 to 3600000`},
		{in("hosts: 1, local: pbs"), `1: clusters[0].local "pbs": expected one of none, fcfs, easy`},
		{in("hosts: 4, keep_free: 5"), `1: clusters[0].keep_free "5": expected a whole number from 0 to 3`},
		{in("hosts: 4, keep_free: 4"), `1: clusters[0].keep_free "4": expected a whole number from 0 to 3`},
		{in("hosts: 4, grow_free: 4"), `1: clusters[0].grow_free "4": expected a whole number from 0 to 3`},
		{in("hosts: 4, grow_free: 2, keep_free: 2"),
			`1: clusters[0].grow_free "2": expected keep_free and grow_free together below the 4 cores of the cluster, not 4`},
		{in("hosts: none, grow_free: 2"), `1: clusters[0].hosts "none": expected a whole number from 1 to 1000000`},
		{in("hosts: 4, reserve: yes"), `1: clusters[0].reserve "yes": expected true or false`},
		{"clusters:\n  - {name: a, hosts: 1}\n  - {name: a, hosts: 1}",
			`3: clusters[1].name "a": expected a name that no other cluster has; that of line 2 has it`},
		{"clusters:\n  - {name: a, hosts: 11}\n  - {name: a1, hosts: 1}",
			`3: clusters[1].hosts "a11": expected a name that no other host has; a host of cluster a has it`},

		{two + "links: [{a: uh, b: utl, mbps: 1}]", `2: links[0].b "utl": unknown cluster, did you mean utk?`},
		{two + "links:\n  - a: uh\n    mbps: 1\n    b: utl", `5: links[0].b "utl": unknown cluster, did you mean utk?`},
		{two + "links: [{a: uh, b: nowhere, mbps: 1}]", `2: links[0].b "nowhere": unknown cluster, known are uh, utk`},
		{two + "links: [{a: uh, b: uh, mbps: 1}]",
			`2: links[0] "uh-uh": expected two different clusters; hosts of one cluster are joined by its own link`},
		{two + "links: [{a: uh, mbps: 1}]", "2: links[0].b: missing, expected the name of a cluster"},
		{two + "links: [{a: uh, b: utk}]", "2: links[0].mbps: missing, expected the rate of the link in Mbit/s"},
		{two + "links:\n  - {a: uh, b: utk, mbps: 1}\n  - {a: utk, b: uh, mbps: 2}",
			`4: links[1] "utk-uh": expected one link for a pair of clusters; this pair has one already`},
		{two + "links: {a: uh}", `2: links "{…}": expected a list of {a, b, mbps, ms}`},
		{"clusters: [{name: a, hosts: 1}, {name: b, hosts: 1}, {name: c, hosts: 1}]\nlinks:\n" +
			"  - {a: a, b: b, mbps: 1}\n  - {a: b, b: c, mbps: 1}\n  - {a: c, b: a, mbps: 1}",
			`5: links[2] "c-a": expected links that form a tree; this one closes the cycle c-b-a-c, so a route would be ambiguous. ` +
				`Leave a link out, or write "routing: shortest" to take the route of least latency`},
		{a + "routing: widest", `2: routing "widest": expected one of tree, shortest`},

		{a + "files: [{name: f, size: 1, at: [b]}]", `2: files[0].at[0] "b": unknown cluster, known are a`},
		{a + "files: [{name: f, size: 1, at: [a, a]}]", `2: files[0].at[1] "a": expected each cluster once`},
		{a + "files: [{name: f, size: 1}]", "2: files[0].at: expected the clusters that hold the file; none is named"},
		{a + "files: [{name: f, at: [a]}]", "2: files[0].size: missing, expected the file's size"},
		{a + "files: [{size: 1, at: [a]}]", "2: files[0].name: the file's name; it is missing"},
		{a + "files: [{name: f, size: -1, at: [a]}]",
			`2: files[0].size "-1": expected a number of bytes such as 4G, 512M or 4096`},
		{a + "files: [{name: f, size: 1, at: [a]}, {name: f, size: 1, at: [a]}]",
			`2: files[1].name "f": expected a name that no other file has; list all its clusters in one at`},
	})
}

func TestAWrongXMLFileIsToldByLineElementAndAttribute(t *testing.T) {
	zone := func(routing, body string) string {
		return `<platform version="4.1"><zone id="z" routing="` + routing + "\">\n" + body + "\n</zone></platform>"
	}
	in := func(body string) string { return zone("Full", body) }
	hosts := `<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>`
	route := func(attrs, ctn string) string {
		return in(hosts + `<link id="l" bandwidth="1Bps"/><link id="d" bandwidth="1Bps" sharing_policy="SPLITDUPLEX"/>` +
			"\n<route src=\"a\" " + attrs + ">" + ctn + "</route>")
	}
	cluster := func(attrs string) string {
		return in(`<cluster id="c" prefix="n" suffix="" radical="0-11" speed="1Gf" bw="1Gbps" lat="1ms" ` + attrs + "/>")
	}
	wantMessages(t, "p.xml", []wrong{
		{"<", "1: expected valid XML (unexpected EOF)"},
		{`<platform version="4.1">`, "1: expected valid XML (unexpected EOF)"},
		{"<?xml version='1.0' encoding='latin-1'?><platform/>",
			`1: expected valid XML in UTF-8 (opening charset "latin-1": the file says that it is in latin-1)`},
		{`<!DOCTYPE p [<!ENTITY a "aaaa">]><platform version="&a;"/>`,
			"1: expected valid XML (invalid character entity &a;)"},
		{"<zone/>", "1: <zone>: expected a SimGrid <platform>"},
		{"<platform/>", "1: <platform> version: a value; the attribute is missing"},
		{`<platform version="3"/>`, `1: <platform> version "3": expected 4 or 4.1; simgrid_update_xml converts older files`},
		{`<platform version="4.1"/>`, "1: <platform>: expected at least one host"},
		{"<platform version=\"4.1\"/>\n<platform/>",
			"2: <platform>: expected one <platform>; the file goes on after its end"},
		{"<platform version=\"4.1\">\ntext</platform>", `1: "text": expected elements only; this text belongs to none`},
		{`<platform version="4.1"><zone id="z" routing="None"/><zone id="y" routing="None"/></platform>`,
			`1: <zone> "y": expected one outermost zone; put these zones into one`},
		{strings.Repeat("<zone>", 200), "1: <zone>: expected elements nested at most 100 deep"},

		{in(""), "1: <platform>: expected at least one host"},
		{in(`<hots id="a" speed="1Gf"/>`), "2: <hots>: unknown element, did you mean host?"},
		{in(`<host speed="1Gf"/>`), "2: <host> id: a value; the attribute is missing"},
		{in(`<host id="a"/>`), "2: <host> speed: a value; the attribute is missing"},
		{in(`<host id="a" speed="1Gf" sped="2"/>`), "2: <host> sped: unknown attribute, did you mean speed?"},
		{in(`<host id="a" id="b" speed="1Gf"/>`), `2: <host> id "b": expected each attribute once`},
		{in(`<host id="a" speed="0"/>`), `2: <host> speed "0": expected a speed such as 1.5Gf`},
		{in(`<host id="a" speed="1GHz"/>`), `2: <host> speed "1GHz": expected a speed such as 1.5Gf`},
		{in(`<host id="a" speed="nanf"/>`), `2: <host> speed "nanf": expected a speed such as 1.5Gf`},
		{in(`<host id="a" speed="1Gf" core="0"/>`), `2: <host> core "0": expected a whole number from 1 to 1000000`},
		{in(`<host id="a" speed="1Gf,2Gf" pstate="2"/>`),
			`2: <host> pstate "2": expected a number from 0 to 1, one of the speeds given`},
		{in(hosts + "\n" + `<router id="a"/>`), `3: <router> id "a": expected a name that no other host, router or zone has`},
		{in(`<host id="z" speed="1Gf"/>`), `2: <host> id "z": expected a name that no other host, router or zone has`},
		{in(`<link id="l" bandwidth="1Bps"/><link id="l" bandwidth="1Bps"/>`),
			`2: <link> id "l": expected a name that no other link has`},
		{in(`<link id="l" bandwidth="1GB"/>`), `2: <link> bandwidth "1GB": expected a bandwidth such as 125MBps or 1Gbps`},
		{in(`<link id="l" bandwidth="1GBps" latency="1parsec"/>`),
			`2: <link> latency "1parsec": expected a time such as 50us`},
		{in(`<link id="l" bandwidth="1GBps" sharing_policy="WIFI"/>`),
			`2: <link> sharing_policy "WIFI": expected one of SHARED, SPLITDUPLEX, FATPIPE`},

		{route(`dst="c"`, ""), `3: <route> dst "c": expected a host or router of zone z`},
		{route(`dst="b"`, `<link_ctn id="x"/>`), `3: <link_ctn> id "x": expected the name of a link`},
		{route(`dst="b"`, `<link_ctn id="l" direction="UP"/>`),
			`3: <link_ctn> direction "UP": no direction; the link is not SPLITDUPLEX`},
		{route(`dst="b"`, `<link_ctn id="d"/>`),
			`3: <link_ctn> id "d": expected a direction, UP or DOWN; the link is SPLITDUPLEX`},
		{route(`dst="b"`, `<link id="l"/>`), "3: <link>: nothing of this kind in <route>"},
		{route(`dst="b" symmetrical="maybe"`, ""), `3: <route> symmetrical "maybe": expected YES or NO`},
		{in(hosts + `<route src="a" dst="b"/><route src="b" dst="a"/>`),
			`2: <route> src "b": expected one route for a pair; that to a is given already (routes are symmetrical unless they say NO)`},
		{in(hosts + `<zoneRoute src="a" dst="b" gw_src="a" gw_dst="b"/>`),
			`2: <zoneRoute> src "a": expected a zone or cluster directly in zone z`},
		{in(`<zone id="x" routing="Full">` + hosts +
			`</zone><zone id="y" routing="Full"/><zoneRoute src="y" dst="x" gw_src="a" gw_dst="a"/>`),
			`2: <zoneRoute> gw_src "a": expected a host or router in zone y`},
		{in(hosts + `<bypassRoute src="a" dst="b"/>`),
			"2: <bypassRoute>: expected ordinary routes; exceptions to them are not imported"},
		{in(`<include file="x"/>`), `2: <include> "x": expected one file; SimGrid itself no longer reads includes`},
		{in(`<backbone id="b" bandwidth="1Bps" latency="0"/>`),
			"2: <backbone>: nothing of this kind in zone z with routing Full"},
		{in(`<peer id="p"/>`), "2: <peer>: nothing of this kind in zone z with routing Full"},
		{zone("Wifi", ""), `1: <zone> routing "Wifi": expected one of Full, Floyd, Dijkstra, DijkstraCache, Cluster, Vivaldi, None`},
		{zone("None", hosts+`<route src="a" dst="b"/>`), "2: <route>: no routes in a zone with routing None"},
		{zone("Cluster", hosts+`<host_link id="a" up="u" down="d"/>`),
			`2: <host_link> up "u": expected the name of a link (with _UP or _DOWN if it is SPLITDUPLEX)`},
		{zone("Vivaldi", hosts), `1: <zone> routing "Vivaldi": expected coordinates for every member of a Vivaldi zone; member 1 has none`},
		{zone("Vivaldi", `<host id="a" speed="1f" coordinates="1 2"/>`),
			`2: <host> coordinates "1 2": expected three numbers in milliseconds, as in "25.5 9.4 1.4"`},
		{zone("Vivaldi", `<zone id="a" routing="Full"/><zone id="b" routing="Full"/>`),
			`2: <zone> id "a": expected a router named router_a in this zone, with coordinates; Vivaldi routes lead through it`},

		{in(`<cluster id="c"/>`), "2: <cluster> prefix: a value; the attribute is missing"},
		{in(`<cluster id="c" prefix="n" suffix="" radical="5-1" speed="1Gf" bw="1Gbps" lat="1ms"/>`),
			`2: <cluster> radical "5-1": expected numbers and ranges such as 0-99,101`},
		{in(`<cluster id="c" prefix="n" suffix="" radical="0-999999999" speed="1Gf" bw="1Gbps" lat="1ms"/>`),
			`2: <cluster> radical "0-999999999": expected at most 1000000 hosts`},
		{cluster(`topology="RING"`), `2: <cluster> topology "RING": expected one of FLAT, TORUS, FAT_TREE, DRAGONFLY`},
		{cluster(`topology="TORUS" topo_parameters="3,2"`),
			`2: <cluster> topo_parameters "3,2": expected sizes such as 3,2,2 whose product is the number of nodes, 12`},
		{cluster(`topology="FAT_TREE" topo_parameters="1;12;1;9999999"`),
			`2: <cluster> topo_parameters "1;12;1;9999999": expected levels;children;parents;cables such as 2;4,4;1,2;1,2, the children's product being the number of nodes, 12`},
		{cluster(`topology="DRAGONFLY" topo_parameters="3,1;1,1;1,1;4"`),
			`2: <cluster> topo_parameters "3,1;1,1;1,1;4": expected at most as many groups as blades in a chassis: each leads to one group`},
		{cluster(`bb_lat="1ms"`), "2: <cluster> bb_bw: expected a bandwidth such as 125MBps or 1Gbps"},
	})
}
