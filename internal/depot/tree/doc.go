// Package tree describes folders as the depot keeps them: a list of files, folders
// and links with the chunks that they hold, written as canonical JSON, itself kept in
// chunks under one ID. It reads trees from any chunk.Source, refuses those that no
// push made, merges them, and makes and applies patches between two that resemble each
// other.
package tree
