// signals.cc -- an endless loop and a bad address in a kernel become errors of its launch.
//
// Both arrive as signals on the thread of the operating system that runs the block; the handler
// leaves the kernel's thread where it is, for good, and goes back to the launch.
#include "emu/races.h"
#include "emu/turns.h"

#include <algorithm>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

namespace emu
{

namespace
{

constexpr int kTicks = 4; // of the timer in the time that a thread may run without a step
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

// Was it interrupted in a kernel or here, or in a function of the C library that may hold a lock?
bool
in_own_code(const block *b, const void *context)
{
    const uintptr_t at = instruction_of(context);
    return place_in(own_file, at) || place_in(b->of->in, at);
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
    if (b->watched != b->turns) {
        b->watched = b->turns;
        b->ticks = 0;
    } else if (++b->ticks > kTicks) {
        if (!in_own_code(b, context) || (b->watching && b->watching->is_busy)) { // soon again
            const struct itimerspec soon = {{0, 1000000}, {0, 1000000}};
            timer_settime(b->timer, 0, &soon, nullptr);
            return;
        }
        b->ticks = 0;
        note_place(b, context);
        report(b,
               "a thread ran for more than %g seconds without a step (WARPKIT_EMU_SECONDS): an "
               "endless loop? %s",
               b->of->set.seconds, last_seen(b->now).text);
        leave(b);
    }
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

} // namespace

void
take_signals()
{
    static const int once = [] {
        kernel_facts facts;
        describe_kernel(reinterpret_cast<const void *>(&take_signals), nullptr, &facts);
        own_file = facts.in;
        return pthread_key_create(&key, nullptr);
    }();
    (void)once;
    for (const int number : kSignals) {
        struct sigaction ours = {}, now;
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

guard::guard(block *b, double seconds)
{
    pthread_setspecific(key, b);
    b->ticks = 0;
    stack_t own = {};
    own.ss_sp = b->alternate; // a kernel may have used up the one that it runs on
    own.ss_size = kSignalStack;
    sigaltstack(&own, &caller);
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : kSignals) sigaddset(&wanted, number);
    pthread_sigmask(SIG_UNBLOCK, &wanted, &mask);
    if (seconds <= 0) return;

    struct sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTimerSignal;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    ticking = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0;
    b->timer = timer;
    const auto tick = (long long)(std::min(seconds, 1e9) * 1e9) / kTicks + 1; // nanoseconds
    struct itimerspec period = {};
    period.it_value.tv_sec = (time_t)(tick / 1000000000);
    period.it_value.tv_nsec = (long)(tick % 1000000000);
    period.it_interval = period.it_value;
    if (ticking) timer_settime(timer, 0, &period, nullptr);
}

guard::~guard()
{
    if (ticking) timer_delete(timer);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    sigaltstack(&caller, nullptr);
    pthread_setspecific(key, nullptr);
}

} // namespace emu
