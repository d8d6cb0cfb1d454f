/* Answers an offer, for the tests: takes the number of its argument, and wants 5. */
#include <stdio.h>
#include <stdlib.h>

#include "godwit.h"

int main(int argc, char **argv)
{
	int had = godwit_size(), offered = godwit_offered_size();
	godwit_accept_size(argc > 1 ? atoi(argv[1]) : 0);
	godwit_want_size(5);
	printf("has %d offered %d then %d offered %d\n", had, offered, godwit_size(), godwit_offered_size());
	return 0;
}
