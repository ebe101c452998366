// histogram / weights, whose words fit shared memory: the window of a sample, and the choice of the
// kernel; weights_shared.cuh tells the story.
#include "histogram/production/weights_shared.cuh"

#include <algorithm>

namespace wk::weights
{

namespace
{

constexpr int64_t kSamples = 8192; // one in a hundred thousand that is larger costs little
constexpr int kMargin = 8;         // words beside the sample's: 32 binades
constexpr int kMostCopies = 8;     // lanes of a warp that share a copy: 4
constexpr int64_t kPerCopy =
    1024; // elements of a call for each copy that blocks clear and add up

struct shape {
    int rows, room; // of shared memory, in words
    int most;       // copies
};

template <numbers kClass>
int
fitting(int64_t rows, int64_t room) // words of a row
{
    const int64_t words = room / rows - chip<kClass>::kUp - 1;
    return (int)std::min<int64_t>(words - words % chip<kClass>::kPer, chip<kClass>::kFull);
}

// `words` words that hold what the sample needs, and as much room on both sides of it.
template <numbers kClass>
__global__ void
plan_window(const span *sample, const shape __grid_constant__ a, int fit, window *out)
{
    using form = chip<kClass>;
    const span s = *sample;
    const int from = s.up ? form::kPer * (layout<kClass>::kPlaces - s.down) : 0;
    const int to = s.up ? form::kPer * s.up + form::kReach : form::kPer;
    window w;
    w.words = min(fit, to - from + 2 * kMargin);
    const int spare = w.words - (to - from);
    w.low = spare < 0 ? to - w.words : from - spare / 2 / form::kPer * form::kPer;
    w.low = max(0, min(w.low, form::kFull - w.words));
    w.pitch = w.words + form::kUp + 1;
    w.copies = max(1, min(a.most, a.room / (a.rows * w.pitch)));
    *out = w;
}

// All words where there are copies enough, else those around what a sample has.
template <numbers kClass>
wk_status
plan_of(wk_call *call, const weights_task &t, const shape &a, span *sample, window *planned,
        shared_plan *plan)
{
    using form = chip<kClass>;
    constexpr int kPitch = form::kFull + form::kUp + 1;
    const int copies = std::min(a.room / (a.rows * kPitch), a.most);
    const int enough = kClass == numbers::whole ? 1 : std::min(3, a.most); // 3: as the study's
    *plan = {{0, form::kFull, kPitch, copies}, nullptr};
    if (copies >= enough) return WK_OK;
    plan->planned = planned;
    if (find_places(call, kClass, t, std::min(t.end, kSamples), sample) != WK_OK)
        return call->error.status;
    return launch(call, 1, 1, 0, plan_window<kClass>, (const span *)sample, a,
                  fitting<kClass>(a.rows, a.room), planned);
}

int64_t
room_of(const wk_call *call)
{
    return most_shared(call) / (int)sizeof(int);
}

} // namespace

bool
fits_shared(const wk_call *call, numbers kind)
{
    return with_class(kind, [&](auto c) {
        constexpr numbers kClass = decltype(c)::value;
        return fitting<kClass>(call->args.histogram.bins + 1, room_of(call)) >=
               chip<kClass>::kFew;
    });
}

wk_status
plan_shared(wk_call *call, numbers kind, const weights_task &t, span *sample, window *planned,
            shared_plan *plan)
{
    const int64_t copies = std::clamp<int64_t>(t.end / kPerCopy, 1, kMostCopies);
    const shape a = {(int)call->args.histogram.bins + 1, (int)room_of(call), (int)copies};
    return with_class(kind, [&](auto c) {
        return plan_of<decltype(c)::value>(call, t, a, sample, planned, plan);
    });
}

wk_status
add_shared(wk_call *call, numbers kind, const weights_task &t, const shared_plan &plan)
{
    return with_elements(t, kind,
                         [&](auto s) { return launch_shared<decltype(s)>(call, t, plan); });
}

} // namespace wk::weights
