// Package pack is a depot on disk: packs of blocks with an index each, which several
// processes use at once. It knows chunks and the trees that name them, and takes away
// what no tree needs; it must not know folders, nor who asks from where.
package pack
