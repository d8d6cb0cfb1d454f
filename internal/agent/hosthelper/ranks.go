package hosthelper

import (
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/host/proctree"
)

// rankVariables are those by which launchers of MPI programs tell a process its rank.
var rankVariables = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}

// RanksAmong are the ranks of parallel programs that run as these processes. What a rank starts has its number too.
func RanksAmong(pids []int) []int {
	var ranks []int
	for _, pid := range pids {
		env, err := proctree.EnvironmentOf(pid)
		if err != nil {
			continue // gone meanwhile
		}
		if rank, ok := rankIn(env); ok {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

func rankIn(env []string) (int, bool) {
	for _, name := range rankVariables {
		for _, v := range env {
			value, ok := strings.CutPrefix(v, name+"=")
			if !ok {
				continue
			}
			rank, err := strconv.Atoi(value)
			return rank, err == nil && rank >= 0 && rank <= maxRank
		}
	}
	return 0, false
}
