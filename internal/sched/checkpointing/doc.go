// Package checkpointing decides how and when a running program is saved: by which
// method, after how long, whether the sandbox costs it too much, when the broker is
// told that its deadline is in danger, and how long before a time limit it leaves.
// Agents carry this out; here are no clocks and no processes.
package checkpointing
