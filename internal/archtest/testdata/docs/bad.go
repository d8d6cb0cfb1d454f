//as internal/sched/core

// This package has a comment that go doc does not put in its index.
package core // want `package core has no doc comment that begins "Package core …": it tells a newcomer`
