// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// roofline.cc - what the memory of this machine allows for embedding lookups
// and sparse optimizer updates.
//
//   g++ -std=c++17 -O3 -march=native -pthread roofline.cc -o roofline
//   ./roofline                       # default set, one JSON object per line
//   ./roofline --quick               # fewer repetitions and cases
//   ./roofline --case rows=1000000,dim=64,slots=1,n=80000,threads=2,huge=1
//
// Kernels
//   triad     a[i] = b[i] + s * c[i], 3 x 256 MiB (STREAM rule: 12 bytes a
//             float counted; write-allocate traffic is not counted)
//   triad_nt  the same with non-temporal stores
//   gather    sum rows read at random indices (the pooled lookup's traffic)
//   rmw       read, modify and write the weight row and `slots` slot rows at
//             distinct random indices; slots=0 SGD, 1 Adagrad, 2 Adam shaped
//             arithmetic. It is the least traffic that a sparse update needs.
//
// order=random|sorted is the order in which the rows are visited; layout=split
// keeps the weights and each slot in an array of its own, layout=inter stores
// [w|s1|s2] in one row.  GB/s counts row bytes once for a read and once for a
// write (1e9 bytes).
//
// All cases with the same table shape and page size share their memory and are
// run in turn, one repetition of each per round, so that load from other
// programs falls on all of them alike.  With --each-line a round waits for a
// line of stdin, and ends with the seconds of each case, as a list of JSON on a
// line: so another program can take its turns with this one.  Every repetition
// takes another batch of indices: a row left in the cache by one repetition is
// found by the next one only by the chance that a real training step would have
// as well.  `seconds` is the median, `min_seconds` the best round (the nearest
// to an idle machine).

#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  size_t n = v.size();
  return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

// A zero-filled, fully touched float array in anonymous memory.
class Array {
 public:
  Array(size_t n, bool huge) : bytes_((n * 4 + kHuge - 1) / kHuge * kHuge) {
    map_ =
        static_cast<char*>(mmap(nullptr, bytes_ + kHuge, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (map_ == MAP_FAILED) {
      perror("mmap");
      exit(1);
    }
    uintptr_t a = reinterpret_cast<uintptr_t>(map_);
    data_ = reinterpret_cast<float*>((a + kHuge - 1) / kHuge * kHuge);
    madvise(data_, bytes_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes_ / 4; i += 16) data_[i] = 1e-3f;
  }
  ~Array() { munmap(map_, bytes_ + kHuge); }
  Array(const Array&) = delete;
  float* data() const { return data_; }

 private:
  static constexpr size_t kHuge = size_t{2} << 20;
  size_t bytes_;
  char* map_;
  float* data_;
};

// A fixed team of threads; the caller is thread 0.  Workers spin briefly and
// then sleep, so an idle team costs nothing.
class Team {
 public:
  explicit Team(int n) : n_(n) {
    Pin(0);
    for (int t = 1; t < n; ++t) threads_.emplace_back([this, t] { Loop(t); });
  }
  ~Team() {
    Run(nullptr);
    for (auto& t : threads_) t.join();
  }
  void Run(const std::function<void(int)>* f) {
    if (n_ > 1) {
      std::lock_guard<std::mutex> l(mu_);
      f_ = f;
      done_.store(0);
      epoch_.fetch_add(1);
      cv_.notify_all();
    }
    if (f) {
      (*f)(0);
      while (done_.load(std::memory_order_acquire) < n_ - 1) _mm_pause();
    }
  }
  int size() const { return n_; }

 private:
  // Thread t stays on the t-th processor: otherwise, on a loaded machine, the
  // scheduler may put a woken worker on the processor of the spinning caller.
  static void Pin(int t) {
    static const cpu_set_t all = [] {
      cpu_set_t s;
      sched_getaffinity(0, sizeof s, &s);
      return s;
    }();
    int k = t % CPU_COUNT(&all);
    for (int c = 0; c < CPU_SETSIZE; ++c)
      if (CPU_ISSET(c, &all) && k-- == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(c, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
      }
  }
  void Loop(int t) {
    Pin(t);
    uint64_t seen = 0;
    for (;;) {
      for (int i = 0; i < 2000 && epoch_.load() == seen; ++i) _mm_pause();
      const std::function<void(int)>* f;
      {
        std::unique_lock<std::mutex> l(mu_);
        cv_.wait(l, [&] { return epoch_.load() != seen; });
        seen = epoch_.load();
        f = f_;
      }
      if (!f) return;
      (*f)(t);
      done_.fetch_add(1, std::memory_order_release);
    }
  }
  int n_;
  std::vector<std::thread> threads_;
  std::mutex mu_;
  std::condition_variable cv_;
  std::atomic<uint64_t> epoch_{0};
  std::atomic<int> done_{0};
  const std::function<void(int)>* f_ = nullptr;
};

struct Case {
  std::string kernel = "rmw";
  size_t rows = 1000000;
  int dim = 64;
  int slots = 1;
  size_t n = 80000;
  int threads = 1;
  int huge = 0;
  int ahead = 8;  // rows of software prefetch; 0 switches it off
  std::string order = "random";
  std::string layout = "split";
};

int g_reps = 24;
bool g_each_line = false;

// Returns whether there is to be a round more.
bool NextRound(int round) {
  if (!g_each_line) return round < g_reps + 1;
  int c;
  while ((c = getchar()) != EOF && c != '\n') {
  }
  return c != EOF;
}

// ---------------------------------------------------------------- triad ---
void RunTriad(const Case& c, bool nt) {
  const size_t n = size_t{64} << 20;
  Array a(n, c.huge), b(n, c.huge), d(n, c.huge);
  Team team(c.threads);
  std::function<void(int)> f = [&](int t) {
    size_t lo = n / c.threads * t, hi = n / c.threads * (t + 1);
    float *pa = a.data(), *pb = b.data(), *pd = d.data();
    __m256 s = _mm256_set1_ps(3.0f);
    for (size_t i = lo; i < hi; i += 8) {
      __m256 v =
          _mm256_fmadd_ps(s, _mm256_load_ps(pd + i), _mm256_load_ps(pb + i));
      if (nt)
        _mm256_stream_ps(pa + i, v);
      else
        _mm256_store_ps(pa + i, v);
    }
    _mm_sfence();
  };
  std::vector<double> ts;
  for (int r = 0; r < std::max(5, g_reps / 3); ++r) {
    double t0 = Now();
    team.Run(&f);
    if (r) ts.push_back(Now() - t0);
  }
  double m = Median(ts);
  printf(
      "{\"kernel\": \"%s\", \"threads\": %d, \"huge\": %d, \"seconds\": %.6f, "
      "\"gbs\": %.2f, \"best_gbs\": %.2f}\n",
      nt ? "triad_nt" : "triad", c.threads, c.huge, m, 12.0 * n / m / 1e9,
      12.0 * n / *std::min_element(ts.begin(), ts.end()) / 1e9);
  fflush(stdout);
}

// ----------------------------------------------------- gather and update ---
inline void PrefetchRow(const float* p, int dim) {
  for (int i = 0; i < dim; i += 16)
    _mm_prefetch(reinterpret_cast<const char*>(p + i), _MM_HINT_T0);
}

template <int D>
void GatherRange(const float* table, const uint32_t* idx, size_t lo, size_t hi,
                 int ahead, size_t n, float* out) {
  __m256 acc[D / 8];
  for (int j = 0; j < D / 8; ++j) acc[j] = _mm256_setzero_ps();
  for (size_t i = lo; i < hi; ++i) {
    if (ahead && i + ahead < n)
      PrefetchRow(table + size_t{idx[i + ahead]} * D, D);
    const float* r = table + size_t{idx[i]} * D;
    for (int j = 0; j < D / 8; ++j)
      acc[j] = _mm256_add_ps(acc[j], _mm256_load_ps(r + 8 * j));
  }
  for (int j = 0; j < D / 8; ++j) _mm256_storeu_ps(out + 8 * j, acc[j]);
}

template <int D, int S>
void RmwRange(float* w, float* s1, float* s2, size_t stride,
              const uint32_t* idx, size_t lo, size_t hi, int ahead, size_t n,
              const float* grad, size_t grad_rows, float rate) {
  const __m256 lr = _mm256_set1_ps(rate), b1 = _mm256_set1_ps(0.9f),
               nb1 = _mm256_set1_ps(0.1f), b2 = _mm256_set1_ps(0.999f),
               nb2 = _mm256_set1_ps(0.001f), eps = _mm256_set1_ps(1e-8f);
  for (size_t i = lo; i < hi; ++i) {
    if (ahead && i + ahead < n) {
      size_t p = size_t{idx[i + ahead]} * stride;
      PrefetchRow(w + p, D);
      if (S > 0) PrefetchRow(s1 + p, D);
      if (S > 1) PrefetchRow(s2 + p, D);
    }
    size_t p = size_t{idx[i]} * stride;
    const float* g0 = grad + (i % grad_rows) * D;
    for (int j = 0; j < D; j += 8) {
      __m256 g = _mm256_load_ps(g0 + j), x = _mm256_load_ps(w + p + j);
      if (S == 0) {
        x = _mm256_fnmadd_ps(lr, g, x);
      } else if (S == 1) {
        __m256 a = _mm256_fmadd_ps(g, g, _mm256_load_ps(s1 + p + j));
        _mm256_store_ps(s1 + p + j, a);
        x = _mm256_sub_ps(
            x, _mm256_div_ps(_mm256_mul_ps(lr, g), _mm256_sqrt_ps(a)));
      } else {
        __m256 m = _mm256_fmadd_ps(b1, _mm256_load_ps(s1 + p + j),
                                   _mm256_mul_ps(nb1, g));
        __m256 v = _mm256_fmadd_ps(b2, _mm256_load_ps(s2 + p + j),
                                   _mm256_mul_ps(nb2, _mm256_mul_ps(g, g)));
        _mm256_store_ps(s1 + p + j, m);
        _mm256_store_ps(s2 + p + j, v);
        x = _mm256_sub_ps(x,
                          _mm256_div_ps(_mm256_mul_ps(lr, m),
                                        _mm256_add_ps(_mm256_sqrt_ps(v), eps)));
      }
      _mm256_store_ps(w + p + j, x);
    }
  }
}

struct Batches {
  std::vector<std::vector<uint32_t>> random, sorted;
};

Batches MakeBatches(size_t rows, size_t n, int count) {
  Batches b;
  std::mt19937_64 rng(7);
  std::vector<uint32_t> perm(rows);
  for (size_t i = 0; i < rows; ++i) perm[i] = i;
  for (int k = 0; k < count; ++k) {
    for (size_t i = 0; i < n; ++i)
      std::swap(perm[i], perm[i + rng() % (rows - i)]);
    b.random.emplace_back(perm.begin(), perm.begin() + n);
    b.sorted.push_back(b.random.back());
    std::sort(b.sorted.back().begin(), b.sorted.back().end());
  }
  return b;
}

// Runs the cases of one group (same rows, dim and page size) in turn.
template <int D>
void RunGroup(const std::vector<Case>& cases) {
  const size_t rows = cases[0].rows;
  const bool huge = cases[0].huge;
  bool split = false, inter = false;
  int max_slots = 0, max_threads = 1;
  for (auto& c : cases) {
    (c.layout == "inter" ? inter : split) = true;
    if (c.kernel == "rmw") max_slots = std::max(max_slots, c.slots);
    max_threads = std::max(max_threads, c.threads);
  }
  const size_t part = rows * D;
  Array split_mem(split ? part * (1 + max_slots) : 16, huge);
  Array inter_mem(inter ? part * (1 + max_slots) : 16, huge);
  const size_t grad_rows = (size_t{1} << 20) / (4 * D);  // 1 MiB of gradients
  Array grad(grad_rows * D, true);
  // lr is zero, so the values stay where they are and no case meets infinities
  // or denormals that another one left; the compiler cannot know it.
  volatile float zero = 0.0f;
  const float lr = zero;

  const int kBatches = 8;
  std::vector<Batches> batches;
  std::vector<size_t> batch_n;
  std::vector<int> which;
  for (auto& c : cases) {
    size_t n = std::min(c.n, rows);
    size_t k = std::find(batch_n.begin(), batch_n.end(), n) - batch_n.begin();
    if (k == batch_n.size()) {
      batch_n.push_back(n);
      batches.push_back(MakeBatches(rows, n, kBatches));
    }
    which.push_back(k);
  }
  std::vector<std::vector<double>> ts(cases.size());
  std::vector<float> out(size_t(max_threads) * 1024);
  std::vector<std::unique_ptr<Team>> teams(max_threads + 1);
  for (auto& c : cases)
    if (!teams[c.threads]) teams[c.threads].reset(new Team(c.threads));

  if (g_each_line) {
    printf("[]\n");
    fflush(stdout);
  }
  for (int r = 0; NextRound(r); ++r) {
    for (size_t k = 0; k < cases.size(); ++k) {
      const Case& c = cases[k];
      const Batches& b = batches[which[k]];
      const size_t n = batch_n[which[k]];
      const int use = (r * 3 + k) % kBatches;
      const uint32_t* ix =
          (c.order == "sorted" ? b.sorted : b.random)[use].data();
      const int slots = c.kernel == "gather" ? 0 : c.slots;
      const bool il = c.layout == "inter";
      const size_t stride = il ? size_t(D) * (1 + slots) : D;
      float* w = il ? inter_mem.data() : split_mem.data();
      float* s1 = w + (il ? D : part);
      float* s2 = w + 2 * (il ? D : part);
      std::function<void(int)> f = [&](int t) {
        size_t lo = n * t / c.threads, hi = n * (t + 1) / c.threads;
        const float* g = grad.data();
        if (c.kernel == "gather")
          GatherRange<D>(w, ix, lo, hi, c.ahead, n, out.data() + 1024 * t);
        else if (slots == 0)
          RmwRange<D, 0>(w, s1, s2, stride, ix, lo, hi, c.ahead, n, g,
                         grad_rows, lr);
        else if (slots == 1)
          RmwRange<D, 1>(w, s1, s2, stride, ix, lo, hi, c.ahead, n, g,
                         grad_rows, lr);
        else
          RmwRange<D, 2>(w, s1, s2, stride, ix, lo, hi, c.ahead, n, g,
                         grad_rows, lr);
      };
      double t0 = Now();
      teams[c.threads]->Run(&f);
      const double seconds = Now() - t0;
      if (g_each_line) {
        printf("%s%.7f%s", k ? ", " : "[", seconds,
               k + 1 == cases.size() ? "]\n" : "");
        fflush(stdout);
      } else if (r) {
        ts[k].push_back(seconds);
      }
    }
  }
  if (g_each_line) return;
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    const bool gather = c.kernel == "gather";
    const int slots = gather ? 0 : c.slots;
    const size_t n = batch_n[which[k]];
    double m = Median(ts[k]);
    double best = *std::min_element(ts[k].begin(), ts[k].end());
    double bytes = double(n) * D * 4 * (gather ? 1 : 2 * (1 + slots));
    printf(
        "{\"kernel\": \"%s\", \"rows\": %zu, \"dim\": %d, \"slots\": %d, "
        "\"n\": %zu, \"threads\": %d, \"huge\": %d, \"ahead\": %d, "
        "\"order\": \"%s\", \"layout\": \"%s\", \"seconds\": %.6f, "
        "\"min_seconds\": %.6f, \"mrows_s\": %.2f, \"gbs\": %.2f, "
        "\"best_mrows_s\": %.2f, \"best_gbs\": %.2f}\n",
        c.kernel.c_str(), c.rows, D, slots, n, c.threads, c.huge, c.ahead,
        c.order.c_str(), c.layout.c_str(), m, best, n / m / 1e6,
        bytes / m / 1e9, n / best / 1e6, bytes / best / 1e9);
  }
  fflush(stdout);
}

void RunAll(std::vector<Case> cases) {
  while (!cases.empty()) {
    const Case c = cases[0];
    if (c.kernel == "triad" || c.kernel == "triad_nt") {
      RunTriad(c, c.kernel == "triad_nt");
      cases.erase(cases.begin());
      continue;
    }
    std::vector<Case> group, rest;
    for (auto& d : cases) {
      bool same = d.kernel.compare(0, 5, "triad") != 0 && d.rows == c.rows &&
                  d.dim == c.dim && d.huge == c.huge;
      (same ? group : rest).push_back(d);
    }
    cases = rest;
    switch (c.dim) {
      case 16:
        RunGroup<16>(group);
        break;
      case 32:
        RunGroup<32>(group);
        break;
      case 64:
        RunGroup<64>(group);
        break;
      case 128:
        RunGroup<128>(group);
        break;
      case 256:
        RunGroup<256>(group);
        break;
      default:
        fprintf(stderr, "dim must be 16, 32, 64, 128 or 256\n");
        exit(2);
    }
  }
}

Case Parse(const char* s) {
  Case c;
  std::string all(s);
  size_t pos = 0;
  while (pos < all.size()) {
    size_t end = all.find(',', pos);
    if (end == std::string::npos) end = all.size();
    std::string kv = all.substr(pos, end - pos);
    size_t eq = kv.find('=');
    std::string k = kv.substr(0, eq),
                v = eq == std::string::npos ? "" : kv.substr(eq + 1);
    if (k == "kernel")
      c.kernel = v;
    else if (k == "rows")
      c.rows = std::stoull(v);
    else if (k == "dim")
      c.dim = std::stoi(v);
    else if (k == "slots")
      c.slots = std::stoi(v);
    else if (k == "n")
      c.n = std::stoull(v);
    else if (k == "threads")
      c.threads = std::stoi(v);
    else if (k == "huge")
      c.huge = std::stoi(v);
    else if (k == "ahead")
      c.ahead = std::stoi(v);
    else if (k == "order")
      c.order = v;
    else if (k == "layout")
      c.layout = v;
    else {
      fprintf(stderr, "unknown key %s\n", k.c_str());
      exit(2);
    }
    pos = end + 1;
  }
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false;
  std::vector<Case> cases;
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "--quick"))
      quick = true;
    else if (!strcmp(argv[i], "--each-line"))
      g_each_line = true;
    else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
      g_reps = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--case") && i + 1 < argc)
      cases.push_back(Parse(argv[++i]));
    else {
      fprintf(
          stderr,
          "usage: %s [--quick] [--reps N] [--each-line] [--case k=v,...]...\n",
          argv[0]);
      return 2;
    }
  }
  if (quick) g_reps = std::min(g_reps, 10);
  if (cases.empty()) {
    struct Shape {
      size_t rows;
      int dim;
    };
    std::vector<Shape> shapes = {{1000000, 64}, {5000000, 32}, {200000, 128}};
    if (quick) shapes.resize(1);
    for (int t : {1, 2})
      for (const char* k : {"triad", "triad_nt"}) {
        Case c;
        c.kernel = k;
        c.threads = t;
        c.huge = 1;
        cases.push_back(c);
      }
    for (auto& s : shapes)
      for (int huge : {0, 1})
        for (const char* order : {"random", "sorted"})
          for (int slots : {-1, 0, 1, 2})
            for (const char* layout : {"split", "inter"})
              for (int t : {1, 2}) {
                if (slots < 1 && !strcmp(layout, "inter")) continue;
                Case c;
                c.kernel = slots < 0 ? "gather" : "rmw";
                c.rows = s.rows;
                c.dim = s.dim;
                c.slots = std::max(slots, 0);
                c.threads = t;
                c.huge = huge;
                c.order = order;
                c.layout = layout;
                cases.push_back(c);
              }
  }
  RunAll(cases);
  return 0;
}
