// Replays recorded inputs on a flat netlist, with the delays of its gates, and counts what its nets
// do.
//
// Event-driven, one cycle after another: at the edge of the clock the inputs change, registers
// follow after their delays, and events are worked off until nothing moves. A gate has one pending
// event at most. What would change its output again before that takes it back (inertial delay), so
// pulses shorter than the delay of a gate do not pass it.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace {

constexpr int PINS = 6;

struct Netlist {
    int64_t nets;
    int64_t gates;             // in topological order
    const int32_t *gate_in;    // PINS per gate
    const int32_t *gate_out;
    const uint64_t *gate_table;
    const int32_t *gate_delays;  // row of delays of each gate
    const int32_t *delays;       // ps, per row [pin][input's new value][output's new value]
    int64_t registers;
    const int32_t *data, *q, *qn, *register_clock;
    const int32_t *q_delays, *qn_delays;  // ps, per register [new value]
    int64_t clock_gates;       // in topological order
    const int32_t *gate_clock, *enable, *gated;
};

// Events by time: a ring of lists, one per picosecond, longer than the longest delay.
class Wheel {
public:
    explicit Wheel(int32_t longest)
        : mask(std::bit_ceil(static_cast<uint32_t>(longest) + 64) - 1),
          lists(mask + 1), busy((mask + 1) / 64) {}

    void put(int32_t time, int32_t driver)
    {
        uint32_t at = time & mask;
        lists[at].push_back(driver);
        busy[at / 64] |= uint64_t{1} << at % 64;
        left++;
    }

    // Moves to the first time from `time` on that has events, and takes them; false if none has.
    bool take(int32_t &time, std::vector<int32_t> &events)
    {
        events.clear();
        if (!left) return false;
        uint32_t at = time & mask;
        uint64_t word = busy[at / 64] >> at % 64 << at % 64;
        uint32_t place = at / 64;
        while (!word) word = busy[place = (place + 1) & (mask / 64)];
        uint32_t found = place * 64 + std::countr_zero(word);
        time += (found - at) & mask;
        events.swap(lists[found]);
        busy[place] &= ~(uint64_t{1} << found % 64);
        left -= events.size();
        return true;
    }

private:
    uint32_t mask;
    std::vector<std::vector<int32_t>> lists;
    std::vector<uint64_t> busy;
    size_t left = 0;
};

class Simulation {
public:
    std::vector<uint8_t> value;
    std::vector<int64_t> transitions;

    explicit Simulation(const Netlist &n)
        : value(n.nets), transitions(n.nets), n(n), gates(n.gates), due(n.gates + 2 * n.registers),
          first(n.nets + 1), wheel(longest(n))
    {
        for (int64_t i = 0; i < PINS * n.gates; i++) first[n.gate_in[i] + 1]++;
        for (int64_t i = 0; i < n.nets; i++) first[i + 1] += first[i];
        fanout.resize(first[n.nets]);
        std::vector<int32_t> at(first.begin(), first.end() - 1);
        for (int64_t i = 0; i < PINS * n.gates; i++)
            fanout[at[n.gate_in[i]]++] = {static_cast<int32_t>(i / PINS), uint8_t(1u << i % PINS)};
        for (int64_t g = 0; g < n.gates; g++)
            gates[g] = {n.gate_table[g], n.delays + 4 * PINS * n.gate_delays[g], n.gate_out[g], 0, 0};
    }

    // Takes settled values as they are.
    void set(const std::vector<uint8_t> &settled)
    {
        value = settled;
        for (int64_t g = 0; g < n.gates; g++) {
            gates[g].inputs = 0;
            for (int p = 0; p < PINS; p++)
                gates[g].inputs |= value[n.gate_in[PINS * g + p]] << p;
        }
    }

    // Runs a cycle: inputs have their new values at its beginning, registers after their delays.
    void run(int64_t inputs, const int32_t *nets, const uint8_t *bits,
             const std::vector<uint8_t> &next)
    {
        int32_t time = 0;
        for (int64_t i = 0; i < n.registers; i++) {
            bool bit = next[i];
            if (value[n.q[i]] != bit) put(n.gates + 2 * i, n.q_delays[2 * i + bit]);
            if (value[n.qn[i]] == bit) put(n.gates + 2 * i + 1, n.qn_delays[2 * i + !bit]);
        }
        for (int64_t i = 0; i < inputs; i++)
            if (value[nets[i]] != bits[i]) toggle(nets[i]);
        evaluate(0);
        while (wheel.take(time, events)) {
            for (int32_t driver : events) {
                if (due[driver] != time) continue;  // taken back, or done
                due[driver] = 0;
                toggle(out(driver));
            }
            evaluate(time);
            time++;
        }
    }

private:
    struct Gate {
        uint64_t table;
        const int32_t *delays;
        int32_t out;
        uint8_t inputs, changed;  // by pin: values; which changed at this time
    };
    struct Pin {
        int32_t gate;
        uint8_t bit;
    };

    const Netlist &n;
    std::vector<Gate> gates;
    std::vector<int32_t> due;  // per gate, then q and qn of each register: time of its event, or 0
    std::vector<int32_t> first, touched, events;
    std::vector<Pin> fanout;
    Wheel wheel;

    static int32_t longest(const Netlist &n)
    {
        int32_t found = 0;
        for (int64_t g = 0; g < n.gates; g++)
            for (int i = 0; i < 4 * PINS; i++)
                found = std::max(found, n.delays[4 * PINS * n.gate_delays[g] + i]);
        for (int64_t i = 0; i < 2 * n.registers; i++)
            found = std::max({found, n.q_delays[i], n.qn_delays[i]});
        return found;
    }

    int32_t out(int32_t driver) const
    {
        if (driver < n.gates) return gates[driver].out;
        int64_t i = (driver - n.gates) / 2;
        return (driver - n.gates) % 2 ? n.qn[i] : n.q[i];
    }

    void put(int32_t driver, int32_t time)
    {
        due[driver] = time;
        wheel.put(time, driver);
    }

    void toggle(int32_t net)
    {
        value[net] ^= 1;
        transitions[net]++;
        for (int32_t i = first[net]; i < first[net + 1]; i++) {
            Gate &gate = gates[fanout[i].gate];
            if (!gate.changed) touched.push_back(fanout[i].gate);
            gate.inputs ^= fanout[i].bit;
            gate.changed |= fanout[i].bit;
        }
    }

    // Looks once at every gate of which inputs have changed, when all of them have.
    void evaluate(int32_t time)
    {
        for (int32_t g : touched) {
            Gate &gate = gates[g];
            bool bit = gate.table >> gate.inputs & 1;
            if (bit == value[gate.out])
                due[g] = 0;
            else if (!due[g])
                put(g, time + delay(gate, bit));
            gate.changed = 0;
        }
        touched.clear();
    }

    // Delay from the change to the output. Of several inputs that change at once it is the slowest
    // of those without which the output would stay; where any one would do, the fastest.
    static int32_t delay(const Gate &gate, bool bit)
    {
        int32_t slowest = 0, fastest = INT32_MAX;
        for (unsigned left = gate.changed; left; left &= left - 1) {
            int pin = std::countr_zero(left);
            int32_t own = gate.delays[4 * pin + 2 * (gate.inputs >> pin & 1) + bit];
            fastest = std::min(fastest, own);
            if ((gate.table >> (gate.inputs ^ 1u << pin) & 1) != bit)
                slowest = std::max(slowest, own);
        }
        return slowest ? slowest : fastest;
    }
};

}  // namespace

// Bits of ports are one byte each, cycles x ports. Returns the first cycle from `first` on in which
// an output differs from the recorded one, -1 if none does, -2 if the events of a cycle do not end
// with the values that the netlist has without delays.
extern "C" int64_t replay(
    const Netlist *n, int64_t cycles, int64_t first, int64_t end, int32_t clock,
    int64_t inputs, const int32_t *input_nets, const uint8_t *input_bits,
    int64_t outputs, const int32_t *output_nets, const uint8_t *output_bits,
    int64_t *transitions, int64_t *functional, int64_t *ones)
{
    std::vector<uint8_t> value(n->nets), before(n->nets), active(n->nets), next(n->registers);
    Simulation timed(*n);
    value[1] = 1;
    for (int64_t i = 0; i < n->registers; i++) value[n->qn[i]] = 1;
    for (int64_t cycle = 0; cycle < cycles && cycle < end; cycle++) {
        const uint8_t *bits = input_bits + cycle * inputs;
        for (int64_t i = 0; i < inputs; i++) value[input_nets[i]] = bits[i];
        for (int64_t g = 0; g < n->gates; g++) {
            const int32_t *in = n->gate_in + PINS * g;
            unsigned index = value[in[0]] | value[in[1]] << 1 | value[in[2]] << 2
                | value[in[3]] << 3 | value[in[4]] << 4 | value[in[5]] << 5;
            value[n->gate_out[g]] = n->gate_table[g] >> index & 1;
        }
        if (cycle >= first) {
            if (cycle == first) timed.set(before);
            timed.run(inputs, input_nets, bits, next);
            if (timed.value != value) return -2;
            for (int64_t i = 0; i < outputs; i++)
                if (value[output_nets[i]] != output_bits[cycle * outputs + i]) return cycle;
            for (int64_t i = 0; i < n->nets; i++) {
                functional[i] += value[i] ^ before[i];
                ones[i] += value[i];
            }
        }
        before = value;
        // The rising edge: which clocks rise, what each register takes, then all at once.
        active[clock] = 1;
        for (int64_t i = 0; i < n->clock_gates; i++)
            active[n->gated[i]] = active[n->gate_clock[i]] & value[n->enable[i]];
        for (int64_t i = 0; i < n->registers; i++)
            next[i] = value[active[n->register_clock[i]] ? n->data[i] : n->q[i]];
        for (int64_t i = 0; i < n->registers; i++) {
            value[n->q[i]] = next[i];
            value[n->qn[i]] = !next[i];
        }
        if (cycle >= first) {
            functional[clock] += 2;
            for (int64_t i = 0; i < n->clock_gates; i++)
                functional[n->gated[i]] += 2 * active[n->gated[i]];
        }
    }
    for (int64_t i = 0; i < n->nets; i++) transitions[i] = timed.transitions[i];
    transitions[clock] = functional[clock];
    for (int64_t i = 0; i < n->clock_gates; i++)
        transitions[n->gated[i]] = functional[n->gated[i]];
    return -1;
}
