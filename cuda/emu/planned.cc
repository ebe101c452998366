// planned.cc -- WARPKIT_EMU_FAIL="function:n" makes the n-th call of that function fail, once: for
// tests of what a program does then.
#include "emu/runtime.h"

#include <stdlib.h>

namespace emu
{

namespace
{

struct plan {
    std::string text, function;
    unsigned long long left =
        0; // calls until the one that fails; 0: it has failed, or none will
};

std::mutex lock; // of the plan
plan &now = *new plan;
std::atomic<bool> planned{false}; // the plan is not empty

bool
read_plan(const char *text, plan *p)
{
    *p = {};
    p->text = text;
    const size_t colon = p->text.find(':');
    if (colon == std::string::npos || colon == 0) return *text == 0;
    const char *number = text + colon + 1;
    char *end;
    if (*number < '0' || *number > '9') return false;
    const unsigned long long n = strtoull(number, &end, 10);
    if (*end != 0 || n == 0) return false;
    p->function = p->text.substr(0, colon);
    p->left = n;
    return true;
}

const char *
plan_text()
{
    const char *text = getenv("WARPKIT_EMU_FAIL");
    return text ? text : "";
}

} // namespace

cudaError_t
planned_failure(cudaError_t code, const char *function)
{
    const char *text = plan_text();
    if (*text == 0 && !planned) return cudaSuccess;
    std::lock_guard<std::mutex> hold(lock);
    if (now.text != text) {
        read_plan(text, &now);
        planned = *text != 0;
    }
    if (now.left == 0 || now.function != function || --now.left > 0) return cudaSuccess;
    return code;
}

bool
read_planned_failure(std::string *why)
{
    plan p;
    if (read_plan(plan_text(), &p)) return true;
    *why = "WARPKIT_EMU_FAIL is '" + p.text +
           "', and must be a function and a number, as in 'cudaMemcpyAsync:3'";
    return false;
}

} // namespace emu
