// Routes nets on tracks: A* for each net in a box around its pins, and negotiated congestion between nets
// (McMurchie and Ebeling, PathFinder, 1995): nets may share nodes at first, which becomes dearer with each turn.
//
// A node is a crossing of the base grid on a layer; layers have one direction. Nets are guarded apart along a track by
// `clear` nodes, and vias of two nets by one node across the tracks where pads are that large.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

namespace {

struct Layer {
    int32_t horizontal, step, clear, pads, least;  // least: nodes of a wire, for its area
};

struct Problem {
    int32_t columns, rows, layers, nets;
    const Layer* layer;
    const uint8_t* block;     // per node, 1: no wire, 2: no via
    const int64_t* pins;      // per net, the first of its pins; one more
    const int64_t* accesses;  // per pin, the first of its accesses; one more
    const int32_t* node;      // per access
    const uint8_t* pierced;   // per access, whether there is a via
    const int64_t* halos;     // per access, the first of the nodes that go with it; one more
    const int32_t* halo;
    const float* scale;       // per net and layer, what steps along it cost more, from 1 up
    float wide, high, via;    // costs of steps
    int32_t turns;
};

struct Net {
    std::vector<int32_t> nodes, vias, halo, chosen;  // halo: nodes that others keep off; chosen: an access of each pin
    std::vector<std::pair<int32_t, int32_t>> edges;
    bool routed = false;
    int tries = 0, idle = 0;  // idle: sweeps that did not make it shorter
};

struct Place {
    int16_t layer, x, y;
};

struct State {  // of a node, between searches
    float history = 0;
    uint16_t used = 0, guarded = 0, piercing = 0;  // by nets, by their halos, by their vias, that others keep off
};

struct Visit {  // of a node, in a search; target: the search that may end there, at access `way`
    float cost = 0;
    int32_t stamp = 0, from = 0, target = 0, way = 0;
};

struct Box {
    int left, right, low, up;
    void cover(int x, int y, int reach) {
        left = std::min(left, x - reach), right = std::max(right, x + reach);
        low = std::min(low, y - reach), up = std::max(up, y + reach);
    }
    int beside(int x) const { return std::max({left - x, 0, x - right}); }
    int above(int y) const { return std::max({low - y, 0, y - up}); }
};

struct Goal {  // a pin that a search may end at
    Box box;
    bool low;
    int pin;
    float far;  // from the tree
};

struct Step {
    float guess, cost;
    int32_t node;
    bool operator<(const Step& other) const { return guess > other.guess; }
};

constexpr size_t kGoals = 16;  // pins that a search looks for, those nearest to the tree
constexpr float kNever = 1e4f;  // what a node costs that another net has, where nets do not share
constexpr int kSweeps = 12, kIdle = 3;  // that make ways shorter, at most, and without gain for a net
constexpr int kRipUp = 4;  // turns from one to the next, early, in which all nets in conflict give way at once
constexpr int kFew = 100, kAround = 2;  // nets in conflict, and nodes: how near to them others give way, too, where nothing else helps

class Router {
  public:
    explicit Router(const Problem& problem) : p(problem), plane(int64_t(p.columns) * p.rows) {
        const size_t count = plane * p.layers;
        states.resize(count), visits.resize(count), places.reserve(count), nets.resize(p.nets);
        for (int l = 0; l < p.layers; l++)
            for (int y = 0; y < p.rows; y++)
                for (int x = 0; x < p.columns; x++) places.push_back({int16_t(l), int16_t(x), int16_t(y)});
    }

    int again(const uint8_t* dirty) {  // routes some nets anew, and what comes into their way
        for (int i = 0; i < p.nets; i++)
            if (!nets[i].routed || dirty[i]) clear(nets[i]);
        return run();
    }

    int run() {
        std::vector<int> order(p.nets);
        for (int i = 0; i < p.nets; i++) order[i] = i;
        int left = p.nets, least = p.nets, since = 0;
        for (int turn = 0; turn < p.turns && left; turn++) {
            for (int index : order) {
                Net& net = nets[index];
                if (net.routed) {
                    mark(net, -1);
                    const bool fine = !conflicts(net);
                    mark(net, 1);
                    if (fine) continue;
                    mark(net, -1);
                }
                route(index);
                net.idle = 0;
                mark(net, 1);
            }
            left = 0;
            for (Net& net : nets) {
                mark(net, -1);
                const bool bad = conflicts(net);
                if (bad) {
                    for (int32_t u : net.nodes) if (others(u)) states[u].history += 4;
                    for (int32_t u : net.vias) if (near_vias(u)) states[u].history += 4;
                    for (int32_t u : net.halo) if (states[u].used) states[u].history += 4;
                }
                mark(net, 1);
                left += bad || !net.routed;
            }
            since = left < least ? 0 : since + 1, least = std::min(least, left);
            if (turn + 1 == p.turns) break;
            if ((turn + 1) % kRipUp == 0 && turn < 4 * kRipUp) rip_up(0);
            if (since >= 2 * kRipUp && left < kFew) {
                const auto bad = rip_up(kAround);  // these come first now
                std::stable_partition(order.begin(), order.end(), [&](int i) { return bad[i]; });
                since = 0;
                continue;
            }
            present = std::min(present * 1.3f, 8.0f);
            std::reverse(order.begin(), order.end());
        }
        for (Net& net : nets) {
            mark(net, -1);
            if (conflicts(net)) net.routed = false;
            mark(net, 1);
        }
        shorten();
        return left;
    }

    std::vector<Net> nets;

  private:
    const Problem& p;
    const int64_t plane;
    std::vector<Place> places;
    std::vector<State> states;
    std::vector<Visit> visits;
    int32_t now = 0;
    int sweep = 0;  // says at which of its pins a net begins
    float present = 3.0f;  // from the first turn on: nets that all share must all be routed anew

    int layer_of(int32_t u) const { return places[u].layer; }
    int x_of(int32_t u) const { return places[u].x; }
    int y_of(int32_t u) const { return places[u].y; }

    bool on_grid(int l, int x, int y) const {
        if (l < 0 || l >= p.layers || x < 0 || x >= p.columns || y < 0 || y >= p.rows) return false;
        return (p.layer[l].horizontal ? y : x) % p.layer[l].step == 0;
    }
    int32_t at(int l, int x, int y) const { return int32_t(l * plane + int64_t(y) * p.columns + x); }

    void mark(const Net& net, int by) {
        for (int32_t u : net.nodes) {  // what is on a node is on those that are too near along its track, too
            const Layer& layer = p.layer[layer_of(u)];
            const int place = layer.horizontal ? x_of(u) : y_of(u), end = layer.horizontal ? p.columns : p.rows;
            const int32_t stride = layer.horizontal ? 1 : p.columns;
            for (int k = -std::min(layer.clear, place); k <= std::min(layer.clear, end - 1 - place); k++) states[u + k * stride].used += by;
        }
        for (int32_t u : net.halo) states[u].guarded += by;  // halos may overlap
        for (int32_t u : net.vias) {  // and vias on those across the tracks, where pads do not pass each other
            const Layer& layer = p.layer[layer_of(u)];
            if (!layer.pads) continue;
            const int place = layer.horizontal ? y_of(u) : x_of(u), end = layer.horizontal ? p.rows : p.columns;
            const int32_t stride = (layer.horizontal ? p.columns : 1) * layer.step;
            if (place >= layer.step) states[u - stride].piercing += by;
            if (place + layer.step < end) states[u + stride].piercing += by;
        }
    }

    void clear(Net& net) {
        mark(net, -1);
        net.routed = false;
        net.nodes.clear(), net.vias.clear(), net.halo.clear();
    }
    // Clears all that are in conflict, so that each has the place of the others to itself once, and what is around.
    // Returns which are in conflict.
    std::vector<char> rip_up(int around) {
        std::vector<char> bad(p.nets, 0), hot(plane, 0);
        for (int i = 0; i < p.nets; i++) {
            Net& net = nets[i];
            mark(net, -1);
            bad[i] = conflicts(net);
            const auto heat = [&](int32_t u) {
                for (int y = std::max(0, y_of(u) - around); y <= std::min(p.rows - 1, y_of(u) + around); y++)
                    for (int x = std::max(0, x_of(u) - around); x <= std::min(p.columns - 1, x_of(u) + around); x++) hot[int64_t(y) * p.columns + x] = 1;
            };
            if (bad[i] && around) {
                for (int32_t u : net.nodes) if (others(u)) heat(u);
                for (int32_t u : net.vias) if (near_vias(u)) heat(u);
                for (int32_t u : net.halo) if (states[u].used) heat(u);
            }
            mark(net, 1);
        }
        for (int i = 0; i < p.nets; i++) {
            const auto& nodes = nets[i].nodes;
            if (bad[i] || std::any_of(nodes.begin(), nodes.end(), [&](int32_t u) { return hot[u % plane]; })) clear(nets[i]);
        }
        return bad;
    }

    // Routes each net anew where no other is, without what conflicts of the past made dear, from another of its pins in
    // each sweep; the shorter way stays.
    void shorten() {
        const float before = present;
        std::vector<float> history(states.size());
        for (size_t u = 0; u < states.size(); u++) std::swap(history[u], states[u].history);
        present = kNever;
        bool better = true;
        for (sweep = 0; sweep < kSweeps && better; sweep++) {
            better = false;
            for (int i = 0; i < p.nets; i++) {
                Net& net = nets[i];
                if (!net.routed || net.idle >= kIdle) continue;
                mark(net, -1);
                const Net old = net;
                route(i);
                if (net.routed && !conflicts(net) && length(net, i) < length(old, i)) better = true, net.idle = 0;
                else net = old, net.idle++;
                mark(net, 1);
            }
        }
        present = before, sweep = 0;
        for (size_t u = 0; u < states.size(); u++) states[u].history = history[u];
    }
    float length(const Net& net, int index) const {  // what its steps cost
        float sum = 0;
        for (auto [a, b] : net.edges) {
            const int l = layer_of(a);
            sum += l != layer_of(b) ? p.via : p.scale[int64_t(index) * p.layers + l] * (p.layer[l].horizontal ? p.wide : p.high);
        }
        return sum;
    }

    int others(int32_t u) const { return states[u].used + states[u].guarded; }  // nets on a node, or too near, but for the one that is routed
    int near_vias(int32_t u) const { return states[u].piercing; }
    bool conflicts(const Net& net) const {
        for (int32_t u : net.nodes) if (others(u)) return true;
        for (int32_t u : net.vias) if (near_vias(u)) return true;
        for (int32_t u : net.halo) if (states[u].used) return true;
        return false;
    }
    float price(int32_t u) const { return states[u].history + present * others(u); }
    float via_price(int32_t u) const { return present * near_vias(u); }

    float access_price(int64_t access) const {
        float sum = p.pierced[access] ? via_price(p.node[access]) : 0;
        for (int64_t h = p.halos[access]; h < p.halos[access + 1]; h++) sum += states[p.halo[h]].history + present * states[p.halo[h]].used;
        return sum;
    }
    void take(Net& net, int pin, int64_t access) {
        net.chosen[pin] = int32_t(access);
        if (p.pierced[access]) net.vias.push_back(p.node[access]);
        net.halo.insert(net.halo.end(), p.halo + p.halos[access], p.halo + p.halos[access + 1]);
    }

    void route(int index) {
        Net& net = nets[index];
        const int64_t first = p.pins[index], count = p.pins[index + 1] - first;
        const int margin = 6 + 3 * std::min(net.tries++, 8);
        for (int reach : {margin, 1 << 28}) {
            net.nodes.clear(), net.vias.clear(), net.halo.clear(), net.edges.clear(), net.chosen.assign(count, -1);
            net.routed = grow(net, index, int(count), reach);
            if (net.routed) break;
        }
        if (!net.routed) return net.edges.clear(), net.vias.clear(), net.halo.clear();  // and marks nothing
        std::sort(net.nodes.begin(), net.nodes.end());
        net.nodes.erase(std::unique(net.nodes.begin(), net.nodes.end()), net.nodes.end());
        lengthen(net);
        std::sort(net.vias.begin(), net.vias.end());
        net.vias.erase(std::unique(net.vias.begin(), net.vias.end()), net.vias.end());
    }

    bool grow(Net& net, int index, int count, int reach) {
        const int64_t first = p.pins[index];
        const float* scale = p.scale + int64_t(index) * p.layers;
        Box box{p.columns, 0, p.rows, 0};
        std::vector<Goal> goals;
        for (int pin = 0; pin < count; pin++) {
            Goal goal{{p.columns, 0, p.rows, 0}, true, pin, 1e30f};
            for (int64_t a = p.accesses[first + pin]; a < p.accesses[first + pin + 1]; a++) {
                const int32_t u = p.node[a];
                box.cover(x_of(u), y_of(u), reach), goal.box.cover(x_of(u), y_of(u), 0);
                goal.low &= layer_of(u) == 0;
            }
            goals.push_back(goal);
        }
        const auto away = [&](const Box& from, int x, int y) { return p.wide * from.beside(x) + p.high * from.above(y); };
        const int root = sweep % count;
        const int64_t start = first + root;
        const Goal begin = goals[root];
        goals.erase(goals.begin() + root);
        for (Goal& goal : goals) goal.far = std::min(away(begin.box, goal.box.left, goal.box.low), away(begin.box, goal.box.right, goal.box.up));
        std::vector<int32_t> tree;
        while (!goals.empty()) {
            now++;
            std::priority_queue<Step> queue;
            const size_t some = std::min(goals.size(), kGoals);
            std::partial_sort(goals.begin(), goals.begin() + some, goals.end(), [](auto& a, auto& b) { return a.far < b.far; });
            for (size_t g = 0; g < some; g++)
                for (int64_t a = p.accesses[first + goals[g].pin]; a < p.accesses[first + goals[g].pin + 1]; a++)
                    visits[p.node[a]].target = now, visits[p.node[a]].way = int32_t(a);
            const auto push = [&](int32_t u, float c, int32_t before) {
                Visit& visit = visits[u];
                if (visit.stamp == now && visit.cost <= c) return;
                visit.stamp = now, visit.cost = c, visit.from = before;
                const int l = layer_of(u), x = x_of(u), y = y_of(u);
                float far = 1e30f;
                for (size_t g = 0; g < some; g++) {
                    const Box& end = goals[g].box;
                    float least = away(end, x, y);
                    // Vias down, and up first where the lowest tracks do not lead there.
                    if (goals[g].low) least += p.via * (l ? l : 2 * ((p.layer[0].horizontal ? end.above(y) : end.beside(x)) > 0));
                    far = std::min(far, least);
                }
                queue.push({c + far, c, u});
            };
            if (tree.empty())
                for (int64_t a = p.accesses[start]; a < p.accesses[start + 1]; a++) push(p.node[a], price(p.node[a]) + access_price(a), p.node[a]);
            else
                for (int32_t u : tree) push(u, 0, u);
            int32_t hit = -1;
            float best = 1e30f;
            while (!queue.empty()) {
                const Step step = queue.top();
                queue.pop();
                const int32_t u = step.node;
                if (step.guess >= best) break;
                if (step.cost > visits[u].cost) continue;
                if (visits[u].target == now && step.cost + access_price(visits[u].way) < best) best = step.cost + access_price(visits[u].way), hit = u;
                const int l = layer_of(u), x = x_of(u), y = y_of(u);
                auto go = [&](int l2, int x2, int y2, float c) {
                    if (!on_grid(l2, x2, y2) || box.beside(x2) || box.above(y2)) return;
                    const int32_t v = at(l2, x2, y2);
                    if (p.block[v] & 1) return;
                    if (l2 != l) {
                        if ((p.block[u] | p.block[v]) & 2) return;
                        c += via_price(u) + via_price(v);
                    }
                    push(v, step.cost + c + price(v), u);
                };
                const float along = scale[l] * (p.layer[l].horizontal ? p.wide : p.high);
                if (p.layer[l].horizontal) go(l, x - 1, y, along), go(l, x + 1, y, along);
                else go(l, x, y - 1, along), go(l, x, y + 1, along);
                go(l - 1, x, y, p.via), go(l + 1, x, y, p.via);
            }
            if (hit < 0) return false;
            const int64_t access = visits[hit].way;
            const auto goal = std::find_if(goals.begin(), goals.end(), [&](auto& one) { return access < p.accesses[first + one.pin + 1] && access >= p.accesses[first + one.pin]; });
            take(net, goal->pin, access);
            goals.erase(goal);
            std::vector<int32_t> path;
            int32_t u = hit;
            for (; visits[u].from != u; u = visits[u].from) {
                path.push_back(u);
                net.edges.push_back({u, visits[u].from});
                if (layer_of(u) != layer_of(visits[u].from)) net.vias.push_back(u), net.vias.push_back(visits[u].from);
            }
            path.push_back(u);
            if (net.chosen[root] < 0) {
                for (int64_t a = p.accesses[start]; a < p.accesses[start + 1]; a++)
                    if (p.node[a] == u && net.chosen[root] < 0) take(net, root, a);
            }
            for (Goal& one : goals)
                for (int32_t v : path) one.far = std::min(one.far, away(one.box, x_of(v), y_of(v)));
            tree.insert(tree.end(), path.begin(), path.end());
            std::sort(tree.begin(), tree.end());
            tree.erase(std::unique(tree.begin(), tree.end()), tree.end());
        }
        net.nodes.insert(net.nodes.end(), tree.begin(), tree.end());
        return true;
    }

    void lengthen(Net& net) {  // wires that are too short for the least area of their layer
        std::vector<int32_t> mine;
        for (auto [a, b] : net.edges) mine.push_back(a), mine.push_back(b);
        std::sort(mine.begin(), mine.end());
        mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
        auto has = [&](int32_t u) { return std::binary_search(mine.begin(), mine.end(), u); };
        for (int32_t u : mine) {
            const Layer& layer = p.layer[layer_of(u)];
            const int64_t stride = layer.horizontal ? 1 : p.columns;
            const int place = layer.horizontal ? x_of(u) : y_of(u), end = layer.horizontal ? p.columns : p.rows;
            if (layer.least < 2 || (place > 0 && has(int32_t(u - stride)))) continue;  // not where a wire begins
            int length = 1;
            while (place + length < end && has(int32_t(u + length * stride))) length++;
            int before = 0, after = 0;
            while (length + before + after < layer.least) {
                const int32_t a = int32_t(u - (before + 1) * stride), b = int32_t(u + (length + after) * stride);
                const bool down = place - before - 1 >= 0 && !(p.block[a] & 1), on = place + length + after < end && !(p.block[b] & 1);
                if (!down && !on) break;
                if (down && (!on || price(a) <= price(b))) net.nodes.push_back(a), net.edges.push_back({a, int32_t(a + stride)}), before++;
                else net.nodes.push_back(b), net.edges.push_back({b, int32_t(b - stride)}), after++;
            }
        }
        std::sort(net.nodes.begin(), net.nodes.end());
        net.nodes.erase(std::unique(net.nodes.begin(), net.nodes.end()), net.nodes.end());
    }
};

std::unique_ptr<Router> router;

}  // namespace

extern "C" int32_t route(const Problem* problem) {  // returns nets that are in conflict, or have no way
    router = std::make_unique<Router>(*problem);
    return router->run();
}

extern "C" int32_t again(const uint8_t* dirty) { return router->again(dirty); }  // the problem must be there still

extern "C" void release() { router.reset(); }

extern "C" int64_t edges(int32_t net) { return int64_t(router->nets[net].edges.size()); }

extern "C" int32_t fetch(int32_t net, int32_t* edge, int32_t* access) {  // returns whether it is routed
    for (auto [a, b] : router->nets[net].edges) *edge++ = a, *edge++ = b;
    for (int32_t one : router->nets[net].chosen) *access++ = one;
    return router->nets[net].routed;
}
