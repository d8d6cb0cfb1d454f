// Package platform reads descriptions of grids: clusters of hosts with their
// speeds, the links between them, the files they hold. It decides what such a
// file means, which route data takes from one place to another, and what to
// tell a user whose file is wrong. It knows nothing of jobs, policies or time;
// who shares a link with whom at a given moment is for package netflow.
//
// Two forms are read, told apart by their content: our own YAML (yaml.go) and
// SimGrid's platform XML (simgrid.go).
//
// # Links
//
// A link carries Mbit/s with a latency. A shared link divides its rate among
// the flows that cross it; a fat pipe gives its whole rate to each of them.
// Every link has one direction: a cable that our YAML describes, and a
// SPLITDUPLEX link of SimGrid, is full duplex and becomes two.
//
// # SimGrid
//
// Speeds are relative to 1 Gf/s: a host of 2.5Gf has speed 2.5. Every <cluster>
// and every zone that holds hosts itself becomes one of our clusters. Routes
// are those of SimGrid, worked out on demand: in the zone that two ends have in
// common, and from there through the gateways. SimGrid's correction factors for
// TCP (latency × 13, bandwidth × 0.97, weights by round-trip time) belong to its
// network model, not to the platform, and are not applied.
//
// Properties are ignored. What has no equivalent here (changes over time in
// trace files, disks, further power states, deployments) is counted in
// Platform.Notes; what would change routes if it were left out (Wi-Fi, bypass
// routes, includes) is an error.
package platform
