/* The calls of one rank in their order, in little memory however long the program runs.
 *
 * Each different call is a symbol. The sequence of symbols is folded while it grows: if
 * its end equals what stands before it, both become a loop of two rounds; if its end
 * equals the body of the loop before it, that loop has one round more. Loops are
 * symbols of longer sequences in turn, so loops nest. What was measured is added up
 * where calls become one.
 *
 * Messages of nearly the same length (within an eighth) are the same symbol. If a program
 * keeps doing something new all the same and the sequence becomes too long, less is
 * told apart: first tags and lengths up to a factor of two, then all lengths; and if
 * that does not help the sequence ends there, which the record says. */
#define _GNU_SOURCE
#include "capture.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST = 8192,       /* elements of the sequence, and symbols */
    WINDOW = 2048,     /* the longest body of a loop */
    TRIES = 64,        /* earlier places that are looked at */
    HEADS = 1 << 12,
    COARSEST = 2
};

/* A symbol (len 0), or a loop around len elements. Statistics are those of a symbol. */
struct element {
    uint64_t hash;
    uint32_t symbol, len;
    uint64_t rounds;
    struct element *body;
    struct cost cost;
    int32_t same, ending;  /* the one before with this hash; the loop before with this last hash */
};

/* The call is the first of those that are the same to us. */
struct symbol {
    struct call call;
    uint64_t kind_hash, hash; /* of those that may be the same; its own */
    int64_t *list;
};

static struct element *queue;
static int length, room;
static int heads[HEADS], loops[HEADS]; /* index + 1 of the last element with a hash; of loops with one inside */

static struct symbol *symbols;
static int known, symbol_room;
static int *table; /* index + 1 */
static int table_size;

static int level;           /* how little is told apart */
static bool ended;          /* nothing more is added */
static uint64_t added, lost;

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

/* near reports whether two lengths are not told apart. */
static bool near(int64_t a, int64_t b, int64_t slack)
{
    int64_t low = a < b ? a : b, high = a < b ? b : a;
    if (level >= 2)
        return (low > 0) == (high > 0) || high <= slack;
    return high - low <= (level == 0 ? high / 8 : high / 2) + slack;
}

/* varies reports whether a call may be joined with one of another length: in all other
 * collective operations the members must agree on it. */
static bool varies(int kind)
{
    return kind < BARRIER || kind >= GATHERV;
}

/* key is the call without what is not told apart. */
static struct call key(const struct call *c)
{
    struct call k = *c;
    if (level > 0 && c->kind < BARRIER) {
        k.tag = k.tag == ANYBODY ? ANYBODY : 0;
        k.tag2 = k.tag2 == ANYBODY ? ANYBODY : 0;
    }
    return k;
}

/* hash_of is equal for calls that may be the same. */
static uint64_t hash_of(const struct call *k)
{
    uint64_t h = mix(0, (uint64_t)k->kind << 32 | (uint32_t)k->comm);
    h = mix(h, (uint64_t)(uint32_t)k->peer << 32 | (uint32_t)k->tag);
    h = mix(h, (uint64_t)(uint32_t)k->peer2 << 32 | (uint32_t)k->tag2);
    h = mix(h, (uint64_t)(uint32_t)k->slot << 32 | (uint32_t)k->items);
    if (!varies(k->kind))
        h = mix(h, (uint64_t)k->bytes);
    for (int i = 0; i < k->items && (k->kind == WAIT || !varies(k->kind)); i++)
        h = mix(h, (uint64_t)k->list[i]);
    return h;
}

/* In a list little things do not matter. */
enum { SLACK = 64 };

static bool same_call(const struct call *a, const struct call *b)
{
    if (a->kind != b->kind || a->comm != b->comm || a->peer != b->peer || a->tag != b->tag || a->peer2 != b->peer2 ||
        a->tag2 != b->tag2 || a->slot != b->slot || a->items != b->items)
        return false;
    bool exact = !varies(a->kind) || a->kind == WAIT;
    if (exact ? a->bytes != b->bytes : !near(a->bytes, b->bytes, 0))
        return false;
    for (int i = 0; i < a->items; i++)
        if (exact ? a->list[i] != b->list[i] : !near(a->list[i], b->list[i], SLACK))
            return false;
    return true;
}

static bool grow_table(void)
{
    int size = table_size ? 2 * table_size : 1024;
    int *wider = calloc((size_t)size, sizeof *wider);
    if (!wider)
        return false;
    for (int i = 0; i < known; i++) {
        int at = (int)(symbols[i].kind_hash & (uint64_t)(size - 1));
        while (wider[at])
            at = (at + 1) & (size - 1);
        wider[at] = i + 1;
    }
    free(table);
    table = wider;
    table_size = size;
    return true;
}

/* symbol_of finds or makes the symbol of a call; -1 if there is no room. */
static int symbol_of(const struct call *c)
{
    struct call k = key(c);
    uint64_t h = hash_of(&k);
    if (2 * known >= table_size && !grow_table())
        return -1;
    int at = (int)(h & (uint64_t)(table_size - 1));
    for (; table[at]; at = (at + 1) & (table_size - 1)) {
        struct symbol *s = &symbols[table[at] - 1];
        if (s->kind_hash == h && same_call(&s->call, &k))
            return table[at] - 1;
    }
    if (known == symbol_room) {
        int more = symbol_room ? 2 * symbol_room : 256;
        struct symbol *wider = realloc(symbols, (size_t)more * sizeof *wider);
        if (!wider)
            return -1;
        symbols = wider;
        symbol_room = more;
    }
    int64_t *list = NULL;
    if (c->items) {
        if (!(list = malloc((size_t)c->items * sizeof *list)))
            return -1;
        memcpy(list, c->list, (size_t)c->items * sizeof *list);
    }
    k.list = list;
    symbols[known] = (struct symbol){k, h, mix(h, (uint64_t)known + 1), list};
    table[at] = known + 1;
    return known++;
}

static bool equal(const struct element *a, const struct element *b)
{
    if (a->hash != b->hash || a->len != b->len)
        return false;
    if (a->len == 0)
        return a->symbol == b->symbol;
    if (a->rounds != b->rounds)
        return false;
    for (uint32_t i = 0; i < a->len; i++)
        if (!equal(&a->body[i], &b->body[i]))
            return false;
    return true;
}

static bool all_equal(const struct element *a, const struct element *b, int n)
{
    for (int i = 0; i < n; i++) /* most often the hashes differ, and at the end */
        if (a[n - 1 - i].hash != b[n - 1 - i].hash)
            return false;
    for (int i = 0; i < n; i++)
        if (!equal(&a[i], &b[i]))
            return false;
    return true;
}

static void add_cost(struct cost *to, const struct cost *c)
{
    to->times += c->times;
    to->bytes += c->bytes;
    to->cpu += c->cpu;
    to->gap += c->gap;
    to->inside += c->inside;
}

static void discard(struct element *e)
{
    for (uint32_t i = 0; i < e->len; i++)
        discard(&e->body[i]);
    if (e->len)
        free(e->body);
}

/* merge adds what was measured in elements that equal others to those. */
static void merge(struct element *to, struct element *from, int n)
{
    for (int i = 0; i < n; i++) {
        if (to[i].len)
            merge(to[i].body, from[i].body, (int)to[i].len);
        else
            add_cost(&to[i].cost, &from[i].cost);
    }
}

static int head_of(uint64_t hash)
{
    return (int)(hash & (HEADS - 1));
}

static uint64_t last_hash(const struct element *loop)
{
    return loop->body[loop->len - 1].hash;
}

static bool push(struct element e)
{
    if (length == room) {
        int more = room ? 2 * room : 256;
        struct element *wider = realloc(queue, (size_t)more * sizeof *wider);
        if (!wider)
            return false;
        queue = wider;
        room = more;
    }
    int *head = &heads[head_of(e.hash)];
    e.same = *head - 1;
    *head = length + 1;
    if (e.len) {
        int *loop = &loops[head_of(last_hash(&e))];
        e.ending = *loop - 1;
        *loop = length + 1;
    }
    queue[length++] = e;
    return true;
}

static struct element pop(void)
{
    struct element e = queue[--length];
    heads[head_of(e.hash)] = e.same + 1;
    if (e.len)
        loops[head_of(last_hash(&e))] = e.ending + 1;
    return e;
}

static uint64_t loop_hash(const struct element *e)
{
    uint64_t h = mix(0x10f, e->rounds);
    for (uint32_t i = 0; i < e->len; i++)
        h = mix(h, e->body[i].hash);
    return h;
}

/* another_round lets the loop before the end swallow the end, if that is one more
 * round of it. */
static bool another_round(void)
{
    int tries = TRIES;
    for (int at = loops[head_of(queue[length - 1].hash)] - 1; at >= 0 && length - 1 - at <= WINDOW && tries-- > 0; at = queue[at].ending) {
        int n = length - 1 - at;
        if ((int)queue[at].len != n || !all_equal(queue[at].body, &queue[at + 1], n))
            continue;
        merge(queue[at].body, &queue[at + 1], n);
        for (int i = 0; i < n; i++) {
            struct element e = pop();
            discard(&e);
        }
        struct element loop = pop();
        loop.rounds++;
        loop.hash = loop_hash(&loop);
        return push(loop);
    }
    return false;
}

/* new_loop makes one of the end and what it repeats. */
static bool new_loop(void)
{
    int tries = TRIES;
    for (int at = queue[length - 1].same; at >= 0 && length - 1 - at <= WINDOW && tries-- > 0; at = queue[at].same) {
        int n = length - 1 - at;
        if (length < 2 * n || !all_equal(&queue[length - 2 * n], &queue[length - n], n))
            continue;
        struct element loop = {.len = (uint32_t)n, .rounds = 2};
        if (!(loop.body = malloc((size_t)n * sizeof *loop.body)))
            return false;
        merge(&queue[length - 2 * n], &queue[length - n], n);
        for (int i = 0; i < n; i++) {
            struct element e = pop();
            discard(&e);
        }
        for (int i = n - 1; i >= 0; i--)
            loop.body[i] = pop();
        loop.hash = loop_hash(&loop);
        return push(loop);
    }
    return false;
}

static bool append(struct element e)
{
    if (!push(e))
        return false;
    while (another_round() || new_loop())
        ;
    return true;
}

/* coarser tells less apart and folds again. */
static void recode(struct element *e, const int *to)
{
    if (e->len == 0) {
        e->symbol = (uint32_t)to[e->symbol];
        e->hash = symbols[e->symbol].hash;
        return;
    }
    for (uint32_t i = 0; i < e->len; i++)
        recode(&e->body[i], to);
    e->hash = loop_hash(e);
}

static bool coarser(void)
{
    struct symbol *old = symbols;
    int many = known, count = length;
    struct element *list = queue;
    int *to = malloc((size_t)(many ? many : 1) * sizeof *to);
    if (!to)
        return false;
    level++;
    symbols = NULL, known = symbol_room = 0;
    free(table);
    table = NULL, table_size = 0;
    queue = NULL, length = room = 0;
    memset(heads, 0, sizeof heads);
    memset(loops, 0, sizeof loops);
    bool good = true;
    for (int i = 0; i < many; i++)
        good = good && (to[i] = symbol_of(&old[i].call)) >= 0;
    for (int i = 0; i < count && good; i++) {
        recode(&list[i], to);
        good = append(list[i]);
    }
    for (int i = 0; i < many; i++)
        free(old[i].list);
    free(old);
    free(list);
    free(to);
    return good;
}

void sequence_add(const struct call *c, const struct cost *what)
{
    if (ended) {
        lost++;
        return;
    }
    added++;
    int s = symbol_of(c);
    if (s < 0 || !append((struct element){.hash = symbols[s].hash, .symbol = (uint32_t)s, .cost = *what}))
        ended = true;
    while (!ended && (length > MOST || known > MOST))
        if (level == COARSEST || !coarser())
            ended = true;
}


static void write_element(FILE *f, const struct element *e)
{
    if (e->len) {
        fprintf(f, "loop %llu %u\n", (unsigned long long)e->rounds, e->len);
        for (uint32_t i = 0; i < e->len; i++)
            write_element(f, &e->body[i]);
        return;
    }
    const struct call *c = &symbols[e->symbol].call;
    const struct cost *t = &e->cost;
    bool mean = varies(c->kind) && t->times > 0;
    fprintf(f, "call %s %d %d %d %d %d %d %.0f %llu %.9f %.9f %.9f %d", kind_name(c->kind), c->comm, c->peer, c->tag, c->peer2, c->tag2,
            c->slot, mean ? t->bytes / (double)t->times : (double)c->bytes, (unsigned long long)t->times, t->cpu, t->gap, t->inside, c->items);
    for (int i = 0; i < c->items; i++)
        fprintf(f, " %lld", (long long)c->list[i]);
    fputc('\n', f);
}

void sequence_write(FILE *f)
{
    fprintf(f, "sequence %d %d %llu %llu\n", length, level, (unsigned long long)added, (unsigned long long)lost);
    for (int i = 0; i < length; i++)
        write_element(f, &queue[i]);
}
