// Package chunk names, cuts and encodes what the depot keeps. A file is cut into
// chunks where its content says so; a chunk is named by the BLAKE3 hash of its
// bytes; chunks that came after one another are compressed together in a block,
// which looks the same on disk and on the wire. Source gives chunks and Sink
// takes them, whoever keeps them. The package knows neither folders nor packs.
package chunk
