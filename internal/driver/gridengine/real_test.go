package gridengine_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/gridengine"
)

// All of this runs on one cell, as an ordinary user on its head.
func TestOnARealGridEngine(t *testing.T) {
	if !batchtest.Inside() {
		t.Log(onACell(t, 2, 4, "-test.run=^TestOnARealGridEngine$", "-test.v"))
		return
	}
	t.Run("Conformance", func(t *testing.T) {
		drivertest.Run(t, func(t *testing.T) drivertest.World { return newWorld(t, gridengine.Options{}, nil) })
	})
	t.Run("WhatUsersWriteArrivesVerbatim", func(t *testing.T) { batchtest.Verbatim(t, newWorld(t, gridengine.Options{}, nil)) })
}
