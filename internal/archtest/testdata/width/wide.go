//as internal/live/broker

package broker

const short, text = 1, "a text in quotes that is longer than sixty columns by itself may make its line as wide as it wants, so that it is found"

const raw = `
and so may a raw string, whose lines belong to what it says and not to the code around it: nobody can break them here either
`

var total = short + short + short + short + short + short + short + short + short + short + short + short + short + short // want `has 1\d\d columns`
