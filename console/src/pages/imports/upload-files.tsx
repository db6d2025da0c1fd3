import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Upload } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { ImportFileRecord } from '../../../../src/wire/contract/import-runs.ts';
import { apiQuery, projectPath, refresh } from '../../api/queries.ts';
import { request, upload } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { classNames } from '../../components/class-names.ts';
import { ErrorNote } from '../../components/error-note.tsx';
import { counted, formatBytes, formatDuration } from '../../components/format-number.ts';
import { plainText } from '../../components/plain-text.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { UserText } from '../../components/user-text.tsx';
import { linesOf, withUpload } from './upload-paths.ts';

interface UploadFilesProps {
  readonly projectId: number;
  /** Lines of the setting `paths`. */
  readonly paths: string;
  readonly onPaths: (paths: string) => void;
  /** Receives the number of files that are not complete yet, including failed ones. */
  readonly onWaiting: (files: number) => void;
}

interface ActiveUpload {
  readonly file: File;
  readonly bytes: number;
  readonly error?: unknown;
}

/** Uploads files by drag and drop or selection. An interrupted upload resumes when the same file is selected again. */
export function UploadFiles({ projectId, paths, onPaths, onWaiting }: UploadFilesProps) {
  const uploaded = useQuery(apiQuery<UploadedFiles>(filesPath(projectId)));
  const { active, add, retry, remove } = useUploads({ projectId, paths, onPaths });
  const waiting = active.length;
  useEffect(() => onWaiting(waiting), [onWaiting, waiting]);
  return (
    <div className="flex flex-col gap-3">
      <DropZone onFiles={add} />
      {active.length > 1 && <TotalRow active={active} />}
      {active.map((each) => (
        <UploadRow
          key={`${each.file.name} ${each.file.lastModified}`}
          upload={each}
          onRetry={() => retry(each.file)}
          onSkip={() => remove(each.file)}
        />
      ))}
      <UploadedList files={uploaded.data?.results ?? []} paths={paths} onPaths={onPaths} projectId={projectId} />
    </div>
  );
}

/** Manages active uploads and adds completed files to the paths. */
function useUploads({ projectId, paths, onPaths }: Omit<UploadFilesProps, 'onWaiting'>) {
  const client = useQueryClient();
  const path = filesPath(projectId);
  const [active, setActive] = useState<readonly ActiveUpload[]>([]);
  const latest = useRef({ paths, onPaths });
  latest.current = { paths, onPaths };
  const update = (file: File, change: Partial<ActiveUpload>): void =>
    setActive((all) => all.map((each) => (each.file === file ? { ...each, ...change } : each)));
  const send = async (file: File): Promise<void> => {
    const files = await client.fetchQuery({ ...apiQuery<UploadedFiles>(path), staleTime: 0 });
    const started = readStarted(projectId, file.name);
    const storedName = started?.stored ?? file.name;
    const storedBytes = files.results.find(({ name, complete }) => name === storedName && !complete)?.bytes;
    const from = resumeOffset(started, file, storedBytes);
    storeStarted(projectId, file, storedName);
    update(file, { bytes: from, error: undefined });
    const uploaded = await uploadFile({ projectId, file, from, onProgress: (bytes) => update(file, { bytes }) });
    localStorage.removeItem(startedKey(projectId, file.name));
    // Uploads may complete faster than the component renders: the next one must build on these paths.
    latest.current.paths = withUpload(latest.current.paths, uploaded);
    latest.current.onPaths(latest.current.paths);
    setActive((all) => all.filter((each) => each.file !== file));
    await refresh(client, path);
  };
  const retry = (file: File): void => void send(file).catch((error: unknown) => update(file, { error }));
  const add = (files: readonly File[]): void => {
    setActive((all) => [...all, ...files.map((file) => ({ file, bytes: 0 }))]);
    for (const file of files) retry(file);
  };
  const remove = (file: File): void => setActive((all) => all.filter((each) => each.file !== file));
  return { active, add, retry, remove };
}

/** Returns the average rate in bytes per second since the first call, `undefined` for the first two seconds. */
function useRate(bytes: number): number | undefined {
  const start = useRef({ bytes, ms: performance.now() });
  const seconds = (performance.now() - start.current.ms) / 1000;
  const rate = (bytes - start.current.bytes) / seconds;
  return seconds > 2 && rate > 0 ? rate : undefined;
}

/** Total progress of all active uploads. */
function TotalRow({ active }: { readonly active: readonly ActiveUpload[] }) {
  const bytes = active.reduce((sum, each) => sum + each.bytes, 0);
  const size = active.reduce((sum, { file }) => sum + file.size, 0);
  const rate = useRate(bytes);
  return (
    <div className="flex flex-col gap-1 text-sm font-medium" role="status">
      <p className="flex justify-between gap-2">
        {counted(active.length, 'file')} still uploading
        <span className="text-soft tabular-nums">
          {formatBytes(bytes)} of {formatBytes(size)}
          {rate !== undefined && ` · ${formatBytes(rate)}/s · ${formatDuration(((size - bytes) / rate) * 1000)} left`}
        </span>
      </p>
      <ProgressBar label="Total upload progress" share={size === 0 ? 1 : bytes / size} />
    </div>
  );
}

function DropZone({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return (
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer.files]);
      }}
      className={classNames(
        'flex flex-col items-center gap-2 rounded-lg border-2 border-dashed px-4 py-6 text-center text-sm',
        over ? 'border-accent bg-accent-soft' : 'border-line',
      )}
    >
      <Upload aria-hidden="true" className="size-5 text-soft" />
      <p>Drop files here: NDJSON, JSON, CSV, Parquet or Avro, compressed or not.</p>
      <Button onClick={() => input.current?.click()}>Choose files</Button>
      <input
        ref={input}
        type="file"
        multiple
        aria-label="Files to upload"
        className="sr-only"
        tabIndex={-1}
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          // Reset, so that the same file can be selected again after a failure.
          target.value = '';
        }}
      />
    </div>
  );
}

interface UploadRowProps {
  readonly upload: ActiveUpload;
  readonly onRetry: () => void;
  /** Excludes a failed file from the import. */
  readonly onSkip: () => void;
}

function UploadRow({ upload: { file, bytes, error }, onRetry, onSkip }: UploadRowProps) {
  return (
    <div className="flex flex-col gap-1 text-sm">
      <p className="flex justify-between gap-2">
        <UserText text={file.name} charsMax={100} short />
        <span className="text-soft tabular-nums">
          {formatBytes(bytes)} of {formatBytes(file.size)}
        </span>
      </p>
      <ProgressBar label={`Upload of ${plainText(file.name)}`} share={file.size === 0 ? 1 : bytes / file.size} />
      <ErrorNote error={error} />
      {error !== undefined && (
        <div className="flex gap-2">
          <Button size="small" onClick={onRetry}>
            Resume upload
          </Button>
          <Button size="small" onClick={onSkip}>
            Skip this file
          </Button>
        </div>
      )}
    </div>
  );
}

interface UploadedListProps {
  readonly projectId: number;
  readonly files: UploadedFiles['results'];
  readonly paths: string;
  readonly onPaths: (paths: string) => void;
}

/** Uploaded files; complete ones can be selected for the import. */
function UploadedList({ projectId, files, paths, onPaths }: UploadedListProps) {
  const lines = linesOf(paths);
  const completed = files.filter(({ complete }) => complete);
  const unfinished = files.filter(({ complete }) => !complete);
  const all = completed.map(({ path }) => path);
  const others = lines.filter((line) => !all.includes(line));
  if (files.length === 0) return null;
  return (
    <fieldset className="flex flex-col gap-1 text-sm">
      <legend className="pb-1 font-medium">Uploaded files</legend>
      {completed.length > 1 && (
        <label className="flex min-h-6 items-center gap-2 font-medium">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={all.every((path) => lines.includes(path))}
            onChange={({ target }) => onPaths((target.checked ? [...others, ...all] : others).join('\n'))}
          />
          All {completed.length} files
        </label>
      )}
      {completed.map(({ name, path, bytes }) => (
        <label key={name} className="flex min-h-6 items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={lines.includes(path)}
            onChange={({ target }) =>
              onPaths(target.checked ? withUpload(paths, path) : lines.filter((line) => line !== path).join('\n'))
            }
          />
          <UserText text={name} charsMax={100} short />
          <span className="text-soft">{formatBytes(bytes)}</span>
        </label>
      ))}
      {unfinished.map((file) => (
        <UnfinishedRow key={file.name} projectId={projectId} file={file} />
      ))}
    </fieldset>
  );
}

interface UnfinishedRowProps {
  readonly projectId: number;
  readonly file: UploadedFiles['results'][number];
}

function UnfinishedRow({ projectId, file: { name, bytes } }: UnfinishedRowProps) {
  const client = useQueryClient();
  const path = filesPath(projectId);
  const remove = useMutation({
    mutationFn: () => request(`${path}${encodeURIComponent(name)}/`, { method: 'DELETE' }),
    onSuccess: () => refresh(client, path),
  });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <StatusBadge tone="warn">unfinished</StatusBadge>
      <UserText text={name} charsMax={100} short />
      <span className="text-soft">{formatBytes(bytes)} uploaded. Select the same file again to resume.</span>
      <Button size="small" busy={remove.isPending} onClick={() => remove.mutate()}>
        Delete
      </Button>
      <ErrorNote error={remove.error} />
    </div>
  );
}

function startedKey(projectId: number, name: string): string {
  return `upload ${projectId} ${name}`;
}

function readStarted(projectId: number, name: string): StartedUpload | undefined {
  const text = localStorage.getItem(startedKey(projectId, name));
  return text === null ? undefined : (JSON.parse(text) as StartedUpload);
}

function storeStarted(projectId: number, { name, size, lastModified }: File, stored: string): void {
  const started: StartedUpload = { name, size, modified: lastModified, stored };
  localStorage.setItem(startedKey(projectId, name), JSON.stringify(started));
}

interface UploadedFiles {
  readonly bytes_max: number;
  readonly total_bytes: number;
  readonly total_bytes_max: number;
  readonly results: readonly ImportFileRecord[];
}

function filesPath(projectId: number): string {
  return projectPath(projectId, 'import_files');
}

interface UploadOptions {
  readonly projectId: number;
  readonly file: File;
  /** Offset to start from: the bytes already uploaded. */
  readonly from: number;
  readonly onProgress: (bytes: number) => void;
}

const chunkBytes = 4 * 1024 * 1024;

/** Uploads a file in chunks, so that a lost connection costs at most one chunk. Returns its path, whose name may differ. */
async function uploadFile({ projectId, file, from, onProgress }: UploadOptions): Promise<string> {
  let offset = from;
  for (;;) {
    const chunk = file.slice(offset, offset + chunkBytes);
    const start = offset;
    const { name, path, bytes } = await upload<ImportFileRecord>(filesPath(projectId), {
      query: { name: file.name, offset, size: file.size },
      body: chunk,
      // At most what the chunk adds, since only a response confirms it.
      onSent: (sent) => onProgress(start + Math.min(sent, chunk.size)),
    });
    storeStarted(projectId, file, name);
    offset = bytes;
    onProgress(offset);
    if (offset >= file.size) return path;
  }
}

/** Identifies a file whose upload has started; another file of the same name is not resumed. */
interface StartedUpload {
  readonly name: string;
  readonly size: number;
  readonly modified: number;
  /** Name that the service gave it. */
  readonly stored: string;
}

function isSameFile(started: StartedUpload | undefined, file: Pick<File, 'name' | 'size' | 'lastModified'>): boolean {
  return started?.name === file.name && started.size === file.size && started.modified === file.lastModified;
}

/** Returns the offset to resume from: the uploaded bytes of the same file, otherwise 0. */
function resumeOffset(started: StartedUpload | undefined, file: File, storedBytes: number | undefined): number {
  return isSameFile(started, file) && storedBytes !== undefined && storedBytes < file.size ? storedBytes : 0;
}
