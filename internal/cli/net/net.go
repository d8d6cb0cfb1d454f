// Package net is the commands about networks and the programs that talk over them: godwit
// weather, select, capture and skeleton. It must not know how anything is measured, forecast,
// recorded or chosen.
package net

import (
	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
)

// app is the program whose commands these are.
type app struct{ *connect.Connector }

// NewCommands are godwit weather, select, capture and skeleton.
func NewCommands(program *connect.Connector) []*cobra.Command {
	a := &app{program}
	return []*cobra.Command{a.weatherCommand(), a.selectCommand(), a.captureCommand(), a.skeletonCommand()}
}
