/* The C driver under test: registers and caches are functions that the test gives. */

typedef struct {
    uint32_t (*read)(uint32_t offset);
    void (*write)(uint32_t offset, uint32_t value);
    void (*clean)(uint64_t address, uint64_t bytes);
    void (*invalidate)(uint64_t address, uint64_t bytes);
} hooks;

#define HOOKS(device) ((const hooks *)(device)->context)
#define CARRYSAVE_READ(device, offset) (HOOKS(device)->read(offset))
#define CARRYSAVE_WRITE(device, offset, value) (HOOKS(device)->write(offset, value))
#define CARRYSAVE_CLEAN(device, address, bytes) (HOOKS(device)->clean(address, bytes))
#define CARRYSAVE_INVALIDATE(device, address, bytes) (HOOKS(device)->invalidate(address, bytes))
#define CARRYSAVE_RESET_POLLS 400u
