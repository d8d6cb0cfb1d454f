/* Conjugate gradients with the communication of NAS CG: ranks in a square, each with a
 * block of the matrix. A product is summed over the ranks of a row and then swapped
 * across the diagonal; numbers are summed over a row. On four ranks three pairs talk:
 * 0–1, 2–3 and 1–2.
 *
 * Each iteration solves A z = x with 25 steps. A is symmetric, with eleven numbers in a
 * row. SIZE is its number of rows. */
#include "kernel.h"

enum { STEPS = 25, OFFSETS = 5 };
static const int offsets[OFFSETS] = {1, 7, 61, 509, 4001};

static int side, row, col, block; /* of the square of ranks; of this rank; rows in a block */
static int *start, *column;
static double *value, *buffer;

/* build makes the numbers of A in our rows and columns. */
static void build(int n)
{
    start = room((size_t)(block + 1) * sizeof *start);
    column = room((size_t)block * (2 * OFFSETS + 1) * sizeof *column);
    value = room((size_t)block * (2 * OFFSETS + 1) * sizeof *value);
    int k = 0;
    for (int i = 0; i < block; i++) {
        int at = row * block + i;
        for (int o = -OFFSETS; o <= OFFSETS; o++) {
            int d = o == 0 ? 0 : offsets[abs(o) - 1] % n;
            int j = (at + (o < 0 ? n - d : d)) % n;
            if (j / block != col)
                continue;
            column[k] = j % block;
            value[k++] = o == 0 ? 2.2 : -0.2 / (1 + abs(o) % 3);
        }
        start[i + 1] = k;
    }
}

/* over_row sums n numbers over the ranks of our row. */
static void over_row(double *x, int n)
{
    for (int bit = 1; bit < side; bit *= 2) {
        int partner = row * side + (col ^ bit);
        swap(x, buffer, n, partner, partner, 1);
        for (int i = 0; i < n; i++)
            x[i] += buffer[i];
    }
}

static double dot(const double *a, const double *b)
{
    double s = 0;
    for (int i = 0; i < block; i++)
        s += a[i] * b[i];
    over_row(&s, 1);
    return s;
}

/* times is w = A p: p and w are our block of columns. */
static void times(const double *p, double *w)
{
    for (int i = 0; i < block; i++) {
        double s = 0;
        for (int k = start[i]; k < start[i + 1]; k++)
            s += value[k] * p[column[k]];
        w[i] = s;
    }
    over_row(w, block);
    if (row != col) {
        int partner = col * side + row;
        swap(w, buffer, block, partner, partner, 2);
        memcpy(w, buffer, (size_t)block * sizeof *w);
    }
}

int main(int argc, char **argv)
{
    int n = 16000, iterations = 120;
    begin(&argc, &argv, &n, 16, &iterations);
    for (side = 1; side * side < ranks; side *= 2)
        ;
    refuse(side * side != ranks, "it needs 1, 4, 16, 64 … of them");
    n -= n % side;
    block = n / side, row = rank / side, col = rank % side;
    build(n);
    size_t bytes = (size_t)block * sizeof(double);
    double *x = room(bytes), *z = room(bytes), *r = room(bytes), *p = room(bytes), *w = room(bytes);
    buffer = room(bytes);
    for (int i = 0; i < block; i++)
        x[i] = 1 + 0.001 * ((col * block + i) % 17);
    double worst = 0, zeta = 0, since = MPI_Wtime();
    for (int it = 0; it < iterations; it++) {
        begin_round();
        memset(z, 0, bytes);
        memcpy(r, x, bytes);
        memcpy(p, x, bytes);
        double rho = dot(r, r), first = rho;
        for (int step = 0; step < STEPS; step++) {
            times(p, w);
            double alpha = rho / dot(p, w), before = rho;
            for (int i = 0; i < block; i++) {
                z[i] += alpha * p[i];
                r[i] -= alpha * w[i];
            }
            rho = dot(r, r);
            for (int i = 0; i < block; i++)
                p[i] = r[i] + rho / before * p[i];
        }
        times(z, w); /* what is left over, not as the recurrence has it */
        for (int i = 0; i < block; i++)
            r[i] = x[i] - w[i];
        double left = sqrt(dot(r, r) / first), length = sqrt(dot(z, z));
        worst = left > worst ? left : worst;
        zeta = dot(x, z) / length;
        for (int i = 0; i < block; i++)
            x[i] = z[i] / length;
    }
    return finish("cg", n, iterations, zeta, worst < 1e-4, since);
}
