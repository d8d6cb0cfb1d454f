package httpdepot

// What tests need to know of the wire.
const (
	MaxIDs      = maxIDs
	MaxPutBody  = maxPutBody
	EndMark     = endMark
	ListMissing = listMissing
	ListDamaged = listDamaged
)

// The parts of the wire that tests write and read by themselves.
var (
	AppendIDs  = appendIDs
	AppendList = appendList
	ReadAnswer = readAnswer
	TakeAnswer = takeAnswer
	AdmitsSums = (*Fence).admits
)
