"""Answers an offer, for the tests: as size.c."""
import sys

import godwit

had, offered = godwit.size(), godwit.offered_size()
godwit.accept_size(int(sys.argv[1]))
godwit.want_size(5)
print("has %d offered %d then %d offered %d" % (had, offered, godwit.size(), godwit.offered_size()))
