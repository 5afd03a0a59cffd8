/* Peer: the sum of f(x + s) over the shifts s, as in models/elementary.py, by
 * vectors of the processor's width.
 *
 * Compiled once for each function and library: -DCALL16=f -DCALL8=f, functions
 * of __m512 and of __m256. usage: elementary N K M      elements, shifts,
 * microbatches; then for each input line S, prints the seconds of S steps
 */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __AVX512F__
typedef __m512 lanes;
enum { WIDTH = 16 };
#define CALL CALL16
#define load _mm512_loadu_ps
#define all _mm512_set1_ps
#define add _mm512_add_ps
#define sum _mm512_reduce_add_ps
#else
typedef __m256 lanes;
enum { WIDTH = 8 };
#define CALL CALL8
#define load _mm256_loadu_ps
#define all _mm256_set1_ps
#define add _mm256_add_ps
static float sum(lanes a) {
  float parts[8], total = 0;
  _mm256_storeu_ps(parts, a);
  for (int i = 0; i < 8; ++i)
    total += parts[i];
  return total;
}
#endif

lanes CALL(lanes);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* The mean over the elements; their sum is kept in double precision, since
 * lanes add up thousands of terms. */
static double microbatch(const float *x, const float *shifts, int n, int k) {
  double total = 0;
  for (int i = 0; i < n; i += WIDTH) {
    const lanes at = load(x + i);
    lanes parts = all(0);
    for (int j = 0; j < k; ++j)
      parts = add(parts, CALL(add(at, all(shifts[j]))));
    total += sum(parts);
  }
  return total / n;
}

int main(int argc, char **argv) {
  if (argc != 4 || atoi(argv[1]) % WIDTH)
    return 2;
  const int n = atoi(argv[1]), k = atoi(argv[2]), microbatches = atoi(argv[3]);
  float *x = malloc(n * sizeof(float)), *shifts = malloc(k * sizeof(float));
  for (int i = 0; i < n; ++i)
    x[i] = (float)(0.25 + 4.0 * i / (n - 1));
  for (int j = 0; j < k; ++j)
    shifts[j] = (float)j / k;
  printf("{\"version\": null, \"loss\": %.9g}\n", microbatch(x, shifts, n, k));
  fflush(stdout);
  int steps;
  while (scanf("%d", &steps) == 1) {
    volatile double kept = 0;
    printf("{\"seconds\": [");
    for (int s = 0; s < steps; ++s) {
      const double began = now();
      for (int m = 0; m < microbatches; ++m)
        kept += microbatch(x, shifts, n, k);
      printf("%s%.9f", s ? ", " : "", now() - began);
    }
    printf("]}\n");
    fflush(stdout);
  }
  return 0;
}
