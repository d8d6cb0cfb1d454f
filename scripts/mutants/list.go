package main

// list has the fences: what keeps a job from being lost, run twice or shown to
// somebody else, and data from being taken for what they are not.
var list = []mutant{
	{
		name: "the end of a job is acknowledged before it is durable",
		edits: []edit{{"internal/live/broker/agentmsg.go",
			"	t.afterCommit(func() { l.sendOrder(wire.Order{Kind: wire.Ack, Seq: m.Seq}) })\n}",
			"	l.sendOrder(wire.Order{Kind: wire.Ack, Seq: m.Seq})\n}"}},
		pkg: "./internal/live/broker", tests: "TestTheEndOfAJobIsAcknowledgedOnlyWhenItIsDurable",
	},
	{
		name: "an end that comes while the job is being stopped is dropped",
		edits: []edit{{"internal/live/broker/agentmsg.go",
			"	case wire.Ended:\n",
			"	case wire.Ended:\n		if v, _ := t.b.eng.FindJob(j.rec.ID); v.State == core.Stopping {\n			return\n		}\n"}},
		pkg: "./internal/live/broker", tests: "TestAnEndThatComesWhileTheJobIsBeingStoppedCounts",
	},
	{
		name: "the next attempt starts before the last is released",
		edits: []edit{{"internal/live/broker/dispatch.go",
			"	j.line.addTask(b.runInBackground, func() {\n		ok := false\n",
			"	b.runInBackground(func() {\n		ok := false\n"}},
		pkg: "./internal/live/broker", tests: "TestTheNextAttemptIsNotStartedBeforeTheLastIsReleased",
	},
	{
		name: "output that could not be written is acknowledged",
		edits: []edit{{"internal/live/broker/agentmsg.go",
			"sends it again\", \"job\", j.rec.ID,\n			\"error\", e)\n		return false\n",
			"sends it again\", \"job\", j.rec.ID,\n			\"error\", e)\n		return true\n"}},
		pkg: "./internal/live/broker", tests: "TestOutputThatCannotBeWrittenIsKeptByTheAgent",
	},
	{
		name: "offsets of output are ignored",
		edits: []edit{{"internal/live/broker/agentmsg.go",
			".WriteAt(m.Data, m.Offset); e != nil {",
			".WriteAt(m.Data, map[int]int64{1: j.rec.Out, 2: j.rec.Err}[m.Stream]); e != nil {"}},
		pkg: "./internal/live/broker", tests: "TestOutputLiesWhereItsAgentSays",
	},
	{
		name: "the broker hears messages of another attempt over an old connection",
		edits: []edit{{"internal/live/broker/agentmsg.go",
			"	if !isPresent(j, hello) {",
			"	if false {"}},
		pkg: "./internal/live/broker", tests: "TestWhatAnAgentOfAPastAttemptSaysIsNotHeard",
	},
	{
		name: "the broker lets in agents with another mark",
		edits: []edit{{"internal/live/broker/link.go",
			"		hello.Mark == wire.PartMark(j.rec.Mark, hello.Part)\n",
			"		true\n"}},
		pkg: "./internal/live/broker", tests: "TestAnAgentOfAnotherAttemptIsToldToLeave",
	},
	{
		name: "the broker lets in agents of another epoch",
		edits: []edit{{"internal/live/broker/link.go",
			"	return hello.Epoch == j.rec.Epoch && ",
			"	return "}},
		pkg: "./internal/live/broker", tests: "TestAnAgentOfAnotherAttemptIsToldToLeave",
	},
	{
		name:  "an agent ignores the lock of its folder",
		edits: []edit{agentIgnoresLock},
		pkg:   "./internal/agent", tests: "TestAFolderWhoseLockSomebodyHasIsLeftAlone",
	},
	{
		name:  "the driver does not look for a living agent",
		edits: []edit{driverIsBlind},
		pkg:   "./internal/driver/local", tests: "TestADriverTakesOverTheAgentThatLives",
	},
	{
		name:  "an agent ignores the lock and the driver does not look for a living agent",
		edits: []edit{agentIgnoresLock, driverIsBlind},
		pkg:   "./internal/driver/local", tests: "TestADriverTakesOverTheAgentThatLives",
	},
	{
		name: "the depot keeps content that is not what its name says",
		edits: []edit{{"internal/depot/chunk/block.go",
			"		if SumOf(plain) != id {",
			"		if false {"}},
		pkg: "./internal/depot/httpdepot", tests: "TestTheHandlerTakesNothingThatIsWrong",
	},
	{
		name: "the depot gives content that is not what its name says",
		edits: []edit{{"internal/depot/pack/get.go",
			"			if chunk.SumOf(plain) != id {",
			"			if false {"}},
		pkg: "./internal/depot/pack", tests: "TestContentThatIsNotWhatItsNameSaysIsNotGiven",
	},
	{
		name: "content that another depot sends is not compared with its name",
		edits: []edit{{"internal/depot/httpdepot/client.go",
			"			if chunk.SumOf(plain) != id {",
			"			if false {"}},
		pkg: "./internal/depot/httpdepot", tests: "TestADepotThatLiesIsFoundOut",
	},
	{
		name: "results that are no valid list of files are tried again and again",
		edits: []edit{{"internal/live/broker/returnresults.go",
			"	case errors.Is(h.notHome, depot.ErrBadTree):",
			"	case h.notHome == nil && expired:"}},
		pkg: "./internal/live/broker", tests: "TestResultsThatAreNoTreeAreGivenUpAtOnce",
	},
	{
		name: "a stopped process of one user holds up the output of all",
		edits: []edit{{"internal/live/broker/outputfiles.go",
			"b.appendLocks.LoadOrStore(owner, ",
			"b.appendLocks.LoadOrStore(uint32(0), "}},
		pkg: "./internal/live/broker", tests: "TestAStoppedProcessOfAUserHoldsUpNobodyElse",
	},
	{
		name: "results are not handed to elements of an array that have no record",
		edits: []edit{{"internal/live/broker/handover.go",
			"	t.addCorresponding(j)\n",
			""}},
		pkg: "./internal/live/broker", tests: "TestAnElementWithoutARecordGetsTheResultsThatItWaitsFor",
	},
	{
		name: "a number that cannot be stored ends the broker",
		edits: []edit{{"internal/live/broker/turn.go",
			"		err := b.commitEncodable(ctx, batch)",
			"		err := b.opt.Store.CommitBatch(ctx, batch)"}},
		pkg: "./internal/live/broker", tests: "TestANumberThatCannotBeStoredIsLeftOut",
	},
	{
		name: "a connection that does not say whose agent it is is kept",
		edits: []edit{{"internal/live/broker/link.go",
			"const helloTimeout = 20 * time.Second",
			"const helloTimeout = 20 * time.Hour"}},
		pkg: "./internal/live/broker", tests: "TestAConnectionThatDoesNotSayWhoseAgentItIsIsCut",
	},
	{
		name: "the body of a request may take as long as it likes",
		edits: []edit{{"internal/live/server/connections.go",
			".Add(bodyTimeout))",
			".Add(1000 * bodyTimeout))"}},
		pkg: "./internal/live/server", tests: "TestARequestWhoseBodyDoesNotArriveIsGivenUp",
	},
	{
		name: "a user may have any number of connections",
		edits: []edit{{"internal/live/server/connections.go",
			"	if l.open[uid] >= l.limit {",
			"	if false {"}},
		pkg: "./internal/live/server", tests: "TestAUserWithTooManyConnectionsIsRefusedUntilOneIsClosed",
	},
	{
		name: "names of hosts may be paths",
		edits: []edit{{"internal/protocol/wire/check.go",
			"		if !IsHostName(name) {",
			"		if false {"}},
		pkg: "./internal/protocol/wire", tests: "TestMessagesOutOfBoundsAreRefused",
	},
}

var (
	agentIgnoresLock = edit{"internal/agent/main.go",
		"	if lock == nil {\n		return false, nil // another agent is at it\n	}\n	defer lock.Close()",
		"	defer lock.Close()"}
	driverIsBlind = edit{"internal/driver/local/start.go",
		"	const tries, between = 200, 5 * time.Millisecond\n",
		"	const tries, between = 0, 5 * time.Millisecond\n	if tries == 0 {\n		return nil, nil\n	}\n"}
)
