/* Heat in a cube, one direction after the other, with the communication of NAS BT: q × q
 * ranks have q blocks each, arranged so that in each slab of the cube, whatever the
 * direction, every rank has one. Lines of five numbers a point are solved through the
 * slabs and back; each direction has its own partner. On four ranks all pairs talk.
 *
 * SIZE is the points of an edge. The exact result is known: a wave that fades. */
#include "kernel.h"

enum { PARTS = 5 };
static const double strength = 0.4;

static int n, q, m, pi, pj; /* points; ranks and blocks along an edge; points of a block; our place */
static double *cell;        /* [block][x][y][z][part] */

static int where(int k, int axis)
{
    return axis == 0 ? k : axis == 1 ? (pi + k) % q : (pj + k) % q;
}

static int block_in(int slab, int axis)
{
    return axis == 0 ? slab : (slab - (axis == 1 ? pi : pj) + q) % q;
}

/* neighbour has the block after ours (step 1) or before it in a direction. */
static int neighbour(int axis, int step)
{
    int i = pi, j = pj;
    if (axis == 0)
        i -= step, j -= step;
    else if (axis == 1)
        i += step;
    else
        j += step;
    return (i + q) % q * q + (j + q) % q;
}

/* The point number at of line (a, b) of a block in a direction. */
static double *point(int k, int axis, int a, int b, int at)
{
    int x = axis == 0 ? at : a, y = axis == 1 ? at : axis == 0 ? a : b, z = axis == 2 ? at : b;
    return cell + ((((size_t)k * m + x) * m + y) * m + z) * PARTS;
}

/* forward eliminates along the lines of a block. carry has, for each line, the factor
 * and the parts of the last point before. */
static void forward(int k, int axis, double *carry, double *factors)
{
    for (int a = 0; a < m; a++)
        for (int b = 0; b < m; b++, carry += PARTS + 1)
            for (int at = 0; at < m; at++) {
                double *u = point(k, axis, a, b, at), div = 1 + 2 * strength - strength * carry[0];
                carry[0] = factors[((size_t)a * m + b) * m + at] = strength / div;
                for (int p = 0; p < PARTS; p++)
                    carry[p + 1] = u[p] = (u[p] + strength * carry[p + 1]) / div;
            }
}

static void backward(int k, int axis, double *carry, const double *factors)
{
    for (int a = 0; a < m; a++)
        for (int b = 0; b < m; b++, carry += PARTS + 1)
            for (int at = m - 1; at >= 0; at--) {
                double *u = point(k, axis, a, b, at);
                for (int p = 0; p < PARTS; p++)
                    carry[p + 1] = u[p] += factors[((size_t)a * m + b) * m + at] * carry[p + 1];
            }
}

/* sweep solves all lines of one direction: through the slabs and back. */
static void sweep(int axis, double *carry, double *next, double *factors)
{
    int lines = m * m * (PARTS + 1);
    size_t each = (size_t)m * m * m;
    for (int way = 0; way < 2; way++) {
        memset(carry, 0, (size_t)lines * sizeof *carry);
        for (int s = 0; s < q; s++) {
            int slab = way == 0 ? s : q - 1 - s, k = block_in(slab, axis);
            if (way == 0)
                forward(k, axis, carry, factors + each * (size_t)k);
            else
                backward(k, axis, carry, factors + each * (size_t)k);
            if (s == q - 1)
                break;
            MPI_Request both[2];
            int to = neighbour(axis, way == 0 ? 1 : -1), from = neighbour(axis, way == 0 ? -1 : 1);
            MPI_Irecv(next, lines, MPI_DOUBLE, from, axis, MPI_COMM_WORLD, &both[0]);
            MPI_Isend(carry, lines, MPI_DOUBLE, to, axis, MPI_COMM_WORLD, &both[1]);
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
            sent[to] += 8LL * lines;
            double *swapped = carry;
            carry = next, next = swapped;
        }
    }
}

/* wave is what the points are at the beginning: part p has p half waves more. */
static double wave(int k, int x, int y, int z, int p)
{
    double h = M_PI / (n + 1);
    return sin(h * (where(k, 0) * m + x + 1)) * sin(h * (where(k, 1) * m + y + 1)) * sin((p + 1) * h * (where(k, 2) * m + z + 1));
}

static double fading(int waves)
{
    return 1 / (1 + 2 * strength * (1 - cos(waves * M_PI / (n + 1))));
}

int main(int argc, char **argv)
{
    int iterations = 50;
    n = 64;
    begin(&argc, &argv, &n, 4, &iterations);
    for (q = 1; q * q < ranks; q++)
        ;
    refuse(q * q != ranks, "it needs 1, 4, 9, 16 … of them");
    n -= n % q;
    m = n / q, pi = rank / q, pj = rank % q;
    size_t points = (size_t)q * m * m * m, lines = (size_t)m * m * (PARTS + 1);
    cell = room(points * PARTS * sizeof *cell);
    double *carry = room(lines * sizeof *carry), *next = room(lines * sizeof *next), *factors = room(points * sizeof *factors);
    for (size_t i = 0; i < points * PARTS; i++) {
        int p = (int)(i % PARTS), z = (int)(i / PARTS % m), y = (int)(i / PARTS / m % m), x = (int)(i / PARTS / m / m % m);
        cell[i] = wave((int)(i / PARTS / m / m / m), x, y, z, p);
    }
    double since = MPI_Wtime(), wrong = 0, sum = 0;
    for (int it = 0; it < iterations; it++) {
        begin_round();
        for (int axis = 0; axis < 3; axis++)
            sweep(axis, carry, next, factors);
    }
    for (size_t i = 0; i < points * PARTS; i++) {
        int p = (int)(i % PARTS), z = (int)(i / PARTS % m), y = (int)(i / PARTS / m % m), x = (int)(i / PARTS / m / m % m);
        double want = wave((int)(i / PARTS / m / m / m), x, y, z, p) * pow(fading(1) * fading(1) * fading(p + 1), iterations);
        wrong = fmax(wrong, fabs(cell[i] - want));
        sum += cell[i] * cell[i];
    }
    double own[2] = {wrong, sum}, all[2];
    MPI_Allreduce(&own[0], &all[0], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&own[1], &all[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return finish("bt", n, iterations, all[1], all[0] < 1e-9, since);
}
