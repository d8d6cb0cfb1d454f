# awk [-v words=N] -f wordcount.awk make | count FILE | add FILE…
#
# make writes a text of N words, the same one every time; count writes how often
# each word is in a file; add puts such counts together.
BEGIN {
	mode = ARGV[1]
	delete ARGV[1]
	if (mode == "make") {
		split("ka lo mi ne pu ra si to vu ze", syllable, " ")
		x = 1
		for (i = 1; i <= words; i++) {
			x = (x * 16807) % 2147483647
			r = x / 2147483647
			word = syllable[1 + int(10 * r * r)] syllable[1 + x % 10]
			printf "%s%s", word, i % 12 ? " " : "\n"
		}
		exit
	}
}
mode == "count" { for (i = 1; i <= NF; i++) n[$i]++ }
mode == "add" { n[$2] += $1 }
END { if (mode != "make") for (w in n) print n[w], w }
