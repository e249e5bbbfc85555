// Routes nets on tracks: A* for each net in a box around its pins, and negotiated congestion between nets
// (McMurchie and Ebeling, PathFinder, 1995): nets may share nodes at first, which becomes dearer with each turn.
//
// A node is a crossing of the base grid on a layer; layers have one direction. Nets are guarded apart along a track by
// `clear` nodes, and vias of two nets by one node across the tracks where pads are that large.
#include <algorithm>
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
    int tries = 0;
};

struct Place {
    int16_t layer, x, y;
};

struct Step {
    float guess, cost;
    int32_t node;
    bool operator<(const Step& other) const { return guess > other.guess; }
};

constexpr int kRipUp = 4;  // turns from one to the next in which all nets in conflict give way at once

class Router {
  public:
    explicit Router(const Problem& problem) : p(problem), plane(int64_t(p.columns) * p.rows) {
        const size_t count = plane * p.layers;
        used.assign(count, 0), guarded.assign(count, 0), piercing.assign(count, 0), history.assign(count, 0);
        cost.assign(count, 0), stamp.assign(count, 0), from.assign(count, 0), target.assign(count, 0), pin_of.assign(count, 0);
        nets.resize(p.nets);
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
        int left = p.nets;
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
                mark(net, 1);
            }
            left = 0;
            for (Net& net : nets) {
                mark(net, -1);
                const bool bad = conflicts(net);
                if (bad) {
                    for (int32_t u : net.nodes) if (others(u)) history[u] += 4;
                    for (int32_t u : net.vias) if (near_vias(u)) history[u] += 4;
                    for (int32_t u : net.halo) if (used[u]) history[u] += 4;
                }
                mark(net, 1);
                left += bad || !net.routed;
            }
            if (turn % kRipUp == kRipUp - 1 && turn + 1 < p.turns) rip_up();
            present = std::min(present * 1.3f, 8.0f);
            std::reverse(order.begin(), order.end());
        }
        for (Net& net : nets) {
            mark(net, -1);
            if (conflicts(net)) net.routed = false;
            mark(net, 1);
        }
        return left;
    }

    std::vector<Net> nets;

  private:
    const Problem& p;
    const int64_t plane;
    std::vector<Place> places;
    std::vector<uint16_t> used, guarded, piercing;  // of a node: by nets, by their halos, by their vias, that others keep off
    std::vector<float> history, cost;
    std::vector<int32_t> stamp, from, target, pin_of;
    int32_t now = 0;
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
            for (int k = -std::min(layer.clear, place); k <= std::min(layer.clear, end - 1 - place); k++) used[u + k * stride] += by;
        }
        for (int32_t u : net.halo) guarded[u] += by;  // halos may overlap
        for (int32_t u : net.vias) {  // and vias on those across the tracks, where pads do not pass each other
            const Layer& layer = p.layer[layer_of(u)];
            if (!layer.pads) continue;
            const int place = layer.horizontal ? y_of(u) : x_of(u), end = layer.horizontal ? p.rows : p.columns;
            const int32_t stride = (layer.horizontal ? p.columns : 1) * layer.step;
            if (place >= layer.step) piercing[u - stride] += by;
            if (place + layer.step < end) piercing[u + stride] += by;
        }
    }

    void clear(Net& net) {
        mark(net, -1);
        net.routed = false;
        net.nodes.clear(), net.vias.clear(), net.halo.clear();
    }
    void rip_up() {  // all that are in conflict, so that each has the place of the others to itself once
        std::vector<Net*> bad;
        for (Net& net : nets) {
            mark(net, -1);
            if (conflicts(net)) bad.push_back(&net);
            mark(net, 1);
        }
        for (Net* net : bad) clear(*net);
    }

    int others(int32_t u) const { return used[u] + guarded[u]; }  // nets on a node, or too near, but for the one that is routed
    int near_vias(int32_t u) const { return piercing[u]; }
    bool conflicts(const Net& net) const {
        for (int32_t u : net.nodes) if (others(u)) return true;
        for (int32_t u : net.vias) if (near_vias(u)) return true;
        for (int32_t u : net.halo) if (used[u]) return true;
        return false;
    }
    float price(int32_t u) const { return history[u] + present * others(u); }
    float via_price(int32_t u) const { return present * near_vias(u); }

    float access_price(int64_t access) const {
        float sum = p.pierced[access] ? via_price(p.node[access]) : 0;
        for (int64_t h = p.halos[access]; h < p.halos[access + 1]; h++) sum += history[p.halo[h]] + present * used[p.halo[h]];
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
        std::sort(net.nodes.begin(), net.nodes.end());
        net.nodes.erase(std::unique(net.nodes.begin(), net.nodes.end()), net.nodes.end());
        if (net.routed) lengthen(net);
        std::sort(net.vias.begin(), net.vias.end());
        net.vias.erase(std::unique(net.vias.begin(), net.vias.end()), net.vias.end());
    }

    bool grow(Net& net, int index, int count, int reach) {
        const int64_t first = p.pins[index];
        const float* scale = p.scale + int64_t(index) * p.layers;
        int left = p.columns, right = 0, low = p.rows, up = 0;
        for (int64_t a = p.accesses[first]; a < p.accesses[first + count]; a++) {
            left = std::min(left, x_of(p.node[a]) - reach), right = std::max(right, x_of(p.node[a]) + reach);
            low = std::min(low, y_of(p.node[a]) - reach), up = std::max(up, y_of(p.node[a]) + reach);
        }
        std::vector<int32_t> tree;
        std::vector<int64_t> way(count, -1);
        std::vector<char> done(count, 0);
        done[0] = 1;
        for (int todo = count - 1; todo; todo--) {
            now++;
            std::priority_queue<Step> queue;
            int tx0 = p.columns, tx1 = 0, ty0 = p.rows, ty1 = 0;
            bool low_targets = true;
            for (int pin = 0; pin < count; pin++) {
                if (done[pin]) continue;
                for (int64_t a = p.accesses[first + pin]; a < p.accesses[first + pin + 1]; a++) {
                    const int32_t u = p.node[a];
                    target[u] = now, pin_of[u] = int32_t(a);
                    low_targets &= layer_of(u) == 0;
                    tx0 = std::min(tx0, x_of(u)), tx1 = std::max(tx1, x_of(u));
                    ty0 = std::min(ty0, y_of(u)), ty1 = std::max(ty1, y_of(u));
                }
            }
            auto push = [&](int32_t u, float c, int32_t before) {
                if (stamp[u] == now && cost[u] <= c) return;
                stamp[u] = now, cost[u] = c, from[u] = before;
                const int x = x_of(u), y = y_of(u);
                float far = p.wide * std::max({tx0 - x, 0, x - tx1}) + p.high * std::max({ty0 - y, 0, y - ty1});
                if (low_targets) {  // vias down, and up first where the lowest tracks do not lead there
                    const bool across = p.layer[0].horizontal ? y < ty0 || y > ty1 : x < tx0 || x > tx1;
                    far += p.via * (layer_of(u) ? layer_of(u) : 2 * across);
                }
                queue.push({c + far, c, u});
            };
            if (tree.empty())
                for (int64_t a = p.accesses[first]; a < p.accesses[first + 1]; a++) push(p.node[a], price(p.node[a]) + access_price(a), p.node[a]);
            else
                for (int32_t u : tree) push(u, 0, u);
            int32_t hit = -1;
            float best = 1e30f;
            while (!queue.empty()) {
                const Step step = queue.top();
                queue.pop();
                const int32_t u = step.node;
                if (step.guess >= best) break;
                if (step.cost > cost[u]) continue;
                if (target[u] == now && step.cost + access_price(pin_of[u]) < best) best = step.cost + access_price(pin_of[u]), hit = u;
                const int l = layer_of(u), x = x_of(u), y = y_of(u);
                auto go = [&](int l2, int x2, int y2, float c) {
                    if (!on_grid(l2, x2, y2) || x2 < left || x2 > right || y2 < low || y2 > up) return;
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
            const int64_t access = pin_of[hit];
            int pin = int(std::upper_bound(p.accesses + first, p.accesses + first + count + 1, access) - (p.accesses + first)) - 1;
            take(net, pin, access);
            done[pin] = 1;
            int32_t u = hit;
            for (; from[u] != u; u = from[u]) {
                tree.push_back(u);
                net.edges.push_back({u, from[u]});
                if (layer_of(u) != layer_of(from[u])) net.vias.push_back(u), net.vias.push_back(from[u]);
            }
            if (tree.empty() || net.chosen[0] < 0) {
                for (int64_t a = p.accesses[first]; a < p.accesses[first + 1]; a++)
                    if (p.node[a] == u && net.chosen[0] < 0) take(net, 0, a);
            }
            tree.push_back(u);
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
