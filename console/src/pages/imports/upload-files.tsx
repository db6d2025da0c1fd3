import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Upload } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { ImportFileRecord } from '../../../../src/wire/contract/import-runs.ts';
import { apiQuery, projectPath, refresh } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../components/button.tsx';
import { classNames } from '../../components/class-names.ts';
import { ErrorNote } from '../../components/error-note.tsx';
import { formatBytes } from '../../components/format-number.ts';
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
  /** How many files have not arrived as a whole: under way, broken off, or chosen though unfinished. */
  readonly onWaiting: (files: number) => void;
}

interface Sending {
  readonly file: File;
  readonly bytes: number;
  readonly error?: unknown;
}

/** Files by drag and drop, or chosen. One that broke off continues where it was when the same file is given again. */
export function UploadFiles({ projectId, paths, onPaths, onWaiting }: UploadFilesProps) {
  const uploaded = useQuery(apiQuery<UploadedFiles>(filesPath(projectId)));
  const { sending, add, again, drop } = useUploads({ projectId, paths, onPaths });
  const waiting = sending.length;
  useEffect(() => onWaiting(waiting), [onWaiting, waiting]);
  return (
    <div className="flex flex-col gap-3">
      <DropZone onFiles={add} />
      {sending.length > 1 && <TotalRow sending={sending} />}
      {sending.map((each) => (
        <SendingRow
          key={`${each.file.name} ${each.file.lastModified}`}
          sending={each}
          onAgain={() => again(each.file)}
          onDrop={() => drop(each.file)}
        />
      ))}
      <UploadedList files={uploaded.data?.results ?? []} paths={paths} onPaths={onPaths} projectId={projectId} />
    </div>
  );
}

/** Files under way; each that arrives whole becomes one of the paths. */
function useUploads({ projectId, paths, onPaths }: Omit<UploadFilesProps, 'onWaiting'>) {
  const client = useQueryClient();
  const path = filesPath(projectId);
  const [sending, setSending] = useState<readonly Sending[]>([]);
  const now = useRef({ paths, onPaths });
  now.current = { paths, onPaths };
  const note = (file: File, change: Partial<Sending>): void =>
    setSending((all) => all.map((each) => (each.file === file ? { ...each, ...change } : each)));
  const send = async (file: File): Promise<void> => {
    const files = await client.fetchQuery({ ...apiQuery<UploadedFiles>(path), staleTime: 0 });
    const there = files.results.find(({ name, complete }) => name === file.name && !complete)?.bytes;
    const from = resumeAt(readBegun(projectId, file.name), file, there);
    storeBegun(projectId, file);
    note(file, { bytes: from, error: undefined });
    await uploadFile({ projectId, file, from, onProgress: (bytes) => note(file, { bytes }) });
    localStorage.removeItem(begunKey(projectId, file.name));
    const line = `upload:${file.name}`;
    if (!linesOf(now.current.paths).includes(line)) now.current.onPaths(withUpload(now.current.paths, line));
    setSending((all) => all.filter((each) => each.file !== file));
    await refresh(client, path);
  };
  const again = (file: File): void => void send(file).catch((error: unknown) => note(file, { error }));
  const add = (files: readonly File[]): void => {
    setSending((all) => [...all, ...files.map((file) => ({ file, bytes: 0 }))]);
    for (const file of files) again(file);
  };
  const drop = (file: File): void => setSending((all) => all.filter((each) => each.file !== file));
  return { sending, add, again, drop };
}

/** All files under way as one. */
function TotalRow({ sending }: { readonly sending: readonly Sending[] }) {
  const bytes = sending.reduce((sum, each) => sum + each.bytes, 0);
  const size = sending.reduce((sum, { file }) => sum + file.size, 0);
  return (
    <div className="flex flex-col gap-1 text-sm font-medium" role="status">
      <p className="flex justify-between gap-2">
        {sending.length} files still uploading
        <span className="text-soft tabular-nums">
          {formatBytes(bytes)} of {formatBytes(size)}
        </span>
      </p>
      <ProgressBar label="Upload of all files" share={size === 0 ? 1 : bytes / size} />
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
      <p>Drop files here: NDJSON, JSON, CSV, Parquet or Avro, plain or packed.</p>
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
          // The same file may be chosen again after it broke off.
          target.value = '';
        }}
      />
    </div>
  );
}

interface SendingRowProps {
  readonly sending: Sending;
  readonly onAgain: () => void;
  /** Of a file that broke off: it is not to be a part of the import. */
  readonly onDrop: () => void;
}

function SendingRow({ sending: { file, bytes, error }, onAgain, onDrop }: SendingRowProps) {
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
          <Button size="small" onClick={onAgain}>
            Continue the upload
          </Button>
          <Button size="small" onClick={onDrop}>
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

/** What is there already: each whole file can be a part of the import or not. */
function UploadedList({ projectId, files, paths, onPaths }: UploadedListProps) {
  const lines = linesOf(paths);
  const whole = files.filter(({ complete }) => complete);
  const unfinished = files.filter(({ complete }) => !complete);
  const all = whole.map(({ path }) => path);
  const others = lines.filter((line) => !all.includes(line));
  if (files.length === 0) return null;
  return (
    <fieldset className="flex flex-col gap-1.5 text-sm">
      <legend className="pb-1 font-medium">Uploaded files</legend>
      {whole.length > 1 && (
        <label className="flex items-center gap-2 font-medium">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={all.every((path) => lines.includes(path))}
            onChange={({ target }) => onPaths((target.checked ? [...others, ...all] : others).join('\n'))}
          />
          All {whole.length} files
        </label>
      )}
      {whole.map(({ name, path, bytes }) => (
        <label key={name} className="flex items-center gap-2">
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
      <span className="text-soft">{formatBytes(bytes)} have arrived. Choose the same file again to continue.</span>
      <Button size="small" busy={remove.isPending} onClick={() => remove.mutate()}>
        Delete
      </Button>
      <ErrorNote error={remove.error} />
    </div>
  );
}

function begunKey(projectId: number, name: string): string {
  return `upload ${projectId} ${name}`;
}

function readBegun(projectId: number, name: string): Begun | undefined {
  const text = localStorage.getItem(begunKey(projectId, name));
  return text === null ? undefined : (JSON.parse(text) as Begun);
}

function storeBegun(projectId: number, { name, size, lastModified }: File): void {
  const begun: Begun = { name, size, modified: lastModified };
  localStorage.setItem(begunKey(projectId, name), JSON.stringify(begun));
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
  /** Where to begin: bytes that are there already. */
  readonly from: number;
  readonly onProgress: (bytes: number) => void;
}

const pieceBytes = 4 * 1024 * 1024;

/** Sends a file piece by piece, so that a line that breaks costs one piece. */
async function uploadFile({ projectId, file, from, onProgress }: UploadOptions): Promise<void> {
  let offset = from;
  do {
    const piece = file.slice(offset, offset + pieceBytes);
    const { bytes } = await request<ImportFileRecord>(filesPath(projectId), {
      method: 'POST',
      query: { name: file.name, offset, size: file.size },
      headers: { 'content-type': 'application/octet-stream' },
      body: piece,
    });
    offset = bytes;
    onProgress(offset);
  } while (offset < file.size);
}

/** Which file it is that was begun: another one of the same name is not continued. */
interface Begun {
  readonly name: string;
  readonly size: number;
  readonly modified: number;
}

function isSameFile(begun: Begun | undefined, file: Pick<File, 'name' | 'size' | 'lastModified'>): boolean {
  return begun?.name === file.name && begun.size === file.size && begun.modified === file.lastModified;
}

/** Where to go on: what is there of the same file, 0 for another. */
function resumeAt(begun: Begun | undefined, file: File, there: number | undefined): number {
  return isSameFile(begun, file) && there !== undefined && there < file.size ? there : 0;
}
