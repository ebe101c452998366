// signals.cc -- an endless loop and a bad address in a kernel become errors of its launch.
//
// Both arrive as signals on the thread of the operating system that runs the block; the handler
// leaves the kernel's thread where it is, for good, and goes back to the launch. A thread that makes
// no step is left so now and then, not for good, for the launch to look whether it is to stop.
#include "emu/races.h"
#include "emu/turns.h"

#include <algorithm>
#include <cxxabi.h>
#include <exception>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

namespace emu
{

namespace
{

constexpr double kTick = 0.05; // seconds, of processor time, from one look to the next
constexpr double kSoon = 0.001;
const int kTimerSignal = SIGRTMIN + 5;
const int kSignals[] = {kTimerSignal,
#ifndef EMU_ASAN // which tells more of a bad address itself
                        SIGSEGV, SIGBUS, SIGFPE
#endif
};

pthread_key_t key; // the block that this thread guards: thread-local variables of a library
                   // that was loaded late may be allocated on first use, not so this
struct sigaction before[NSIG];
const object_file *own_file;

uintptr_t
instruction_of(const void *context)
{
    const auto *c = static_cast<const ucontext_t *>(context);
#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)c->uc_mcontext.pc;
#endif
}

// May the thread be left where it was interrupted? It is in a kernel or here, not in a function of the
// C library that may hold a lock, and holds none of this library's.
bool
may_be_left(const block *b, const void *context)
{
    const uintptr_t at = instruction_of(context);
    return (place_in(own_file, at) || place_in(b->of->in, at)) && !b->holds &&
           !(b->watching && b->watching->is_busy);
}

double
processor_time()
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void
tick_in(block *b, double first, double then)
{
    const auto time = [](double s) { return timespec{0, (long)(s * 1e9) + 1}; };
    const struct itimerspec period = {time(then), time(first)};
    timer_settime(b->timer, 0, &period, nullptr);
}

// To whoever had the signal before.
void
pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction &old = before[number];
    if (old.sa_flags & SA_SIGINFO) {
        old.sa_sigaction(number, info, context);
    } else if (old.sa_handler == SIG_DFL) {
        signal(number, SIG_DFL);
        raise(number); // now, or when this handler has returned, if it is blocked
    } else if (old.sa_handler != SIG_IGN) {
        old.sa_handler(number);
    }
}

// The first failure's, like its report.
void
note_place(block *b, const void *context)
{
    if (!b->of->failed) b->of->at = place_in(b->of->in, instruction_of(context));
}

void
on_tick(int number, siginfo_t *info, void *context)
{
    auto *b = static_cast<block *>(pthread_getspecific(key));
    if (info->si_code != SI_TIMER || b == nullptr) {
        if (before[number].sa_flags & SA_SIGINFO || before[number].sa_handler != SIG_DFL)
            pass_on(number, info, context);
        return; // a tick that came late
    }
    if (b->now == nullptr) return;
    const double now = processor_time(), seconds = b->of->set.seconds;
    if (b->watched != b->turns) {
        b->watched = b->turns;
        b->since = now;
        return;
    }
    const bool late = seconds > 0 && now - b->since > seconds;
    if (!may_be_left(b, context)) return tick_in(b, kSoon, b->tick);
    const sigset_t *const before = &static_cast<const ucontext_t *>(context)->uc_sigmask;
    if (!late) {
        b->interrupted = before;
        return ask_home(b, b->now);
    }
    note_place(b, context);
    report(b,
           "a thread ran for more than %g seconds without a step (WARPKIT_EMU_SECONDS): an "
           "endless loop? %s",
           seconds, last_seen(b->now).text);
    pthread_sigmask(SIG_SETMASK, before, nullptr);
    leave(b);
}

void
on_fault(int number, siginfo_t *info, void *context)
{
    auto *b = static_cast<block *>(pthread_getspecific(key));
    if (b == nullptr || b->now == nullptr || info->si_code <= 0) { // 0: somebody has sent it
        pass_on(number, info, context);
        return;
    }
    const auto *bad = static_cast<const char *>(info->si_addr);
    const char *stack = b->now->own.stack;
    const int owner = owner_of(bad);
    note_place(b, context);
    phrase whose;
    if (number == SIGSEGV && owner >= 0 && owner != b->of->device)
        whose.add(" in the memory of device %d", owner);
    report(b, "%s %p%s; %s",
           number == SIGFPE                       ? "division by zero at"
           : bad >= stack && bad < stack + kGuard ? "the stack is used up at"
                                                  : "bad address",
           info->si_addr, whose.text, last_seen(b->now).text);
    leave(b);
}

// ---- exceptions, which no frame of a kernel's stack takes -------------------------------------

std::terminate_handler others;

// The first caller in the kernel's file.
_Unwind_Reason_Code
note_caller(struct _Unwind_Context *context, void *of)
{
    auto *b = static_cast<block *>(of);
    const uintptr_t at = _Unwind_GetIP(context);
    if (!place_in(b->of->in, at)) return _URC_NO_REASON;
    called_from(b, reinterpret_cast<const void *>(at));
    return _URC_END_OF_STACK;
}

void
on_terminate()
{
    if (!in_kernel()) {
        if (others) others();
        abort();
    }
    block *b = running;
    if (std::current_exception()) abi::__cxa_end_catch();
    _Unwind_Backtrace(note_caller, b);
    fail(b, "it throws an exception; %s", last_seen(b->now).text);
}

} // namespace

void
take_signals()
{
    const std::terminate_handler now = std::get_terminate();
    if (now != on_terminate) {
        others = now;
        std::set_terminate(on_terminate);
    }
    static const int once = [] {
        kernel_facts facts;
        describe_kernel(reinterpret_cast<const void *>(&take_signals), nullptr, &facts);
        own_file = facts.in;
        return pthread_key_create(&key, nullptr);
    }();
    (void)once;
    for (const int number : kSignals) {
        struct sigaction ours = {}, now;
        if (number == kTimerSignal) // no other handler before home has a stack for it
            sigfillset(&ours.sa_mask);
        else
            sigemptyset(&ours.sa_mask);
        // NODEFER: the handler is left without returning, and the signal must come again.
        ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
        ours.sa_sigaction = number == kTimerSignal ? on_tick : on_fault;
        sigaction(number, nullptr, &now);
        if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == ours.sa_sigaction) continue;
        before[number] = now;
        sigaction(number, &ours, nullptr);
    }
}

void
signals_at_home(const sigset_t *mask)
{
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    pthread_sigmask(SIG_SETMASK, mask, nullptr);
}

void
signals_apart(block *b)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    stack_t own = {};
    own.ss_sp = b->alternate;
    own.ss_size = kSignalStack;
    sigaltstack(&own, nullptr);
}

guard::guard(block *b, double seconds)
{
    pthread_setspecific(key, b);
    stack_t own = {};
    own.ss_sp = b->alternate; // a kernel may have used up the one that it runs on
    own.ss_size = kSignalStack;
    sigaltstack(&own, &caller);
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : kSignals) sigaddset(&wanted, number);
    pthread_sigmask(SIG_UNBLOCK, &wanted, &mask);

    struct sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTimerSignal;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    ticking = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0;
    b->timer = timer;
    b->tick = seconds > 0 ? std::min(seconds / 4, kTick) : kTick;
    b->watched = b->turns;
    b->since = processor_time();
    if (ticking) tick_in(b, b->tick, b->tick);
}

guard::~guard()
{
    if (ticking) timer_delete(timer);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    sigaltstack(&caller, nullptr);
    pthread_setspecific(key, nullptr);
}

} // namespace emu
