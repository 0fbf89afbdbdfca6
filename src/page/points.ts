// Draws the bicycles as points. All points use a single buffer and a single texture of marks, so
// 100,000 bicycles move as smoothly as ten.

import type { CustomLayerInterface, Map as MapLibre } from 'maplibre-gl';
import { mercatorY, worldX } from '../globe/projection.js';
import type { PageBicycle } from './fleet.js';
import { OUTLINES, pageLookOf } from './outlines.js';
import { pointPixels } from './sizes.js';
import { LOOKS, readColour } from './state-marks.js';
import { extentOf, viewOf } from './view.js';

/** The fields of a vertex, and the number of floats in each field. */
const VERTEX_PARTS = { high: 2, low: 2, changed: 1, look: 1 };
const VERTEX_FLOATS = 6;
/** How long a halo marks a change. */
const HALO_MS = 1_800;
/** The width of a halo, as a multiple of its mark's width. */
const HALO_TIMES = '3.2';
const ROOMY = 3_000;
const START_MS = performance.now();
/** The width of a mark in the texture. */
const MARK_PIXELS = 64;

/*
 * One 32-bit float for a coordinate would have an error of two metres. Each coordinate is therefore
 * split into two floats. The middle of the map is subtracted from both floats before they are
 * added.
 */
const VERTEX = `#version 300 es
in vec2 high; in vec2 low; in float changed; in float look;
uniform vec2 centreHigh; uniform vec2 centreLow; uniform vec2 scale; uniform float shift;
uniform float size; uniform float now;
out float halo; out float mark;
void main() {
  vec2 away = (high - centreHigh) + (low - centreLow) + vec2(shift, 0.0);
  gl_Position = vec4(away.x * scale.x, -away.y * scale.y, 0.0, 1.0);
  halo = clamp(1.0 - (now - changed) / ${HALO_MS.toFixed(1)}, 0.0, 1.0);
  mark = look;
  gl_PointSize = size * (halo > 0.0 ? ${HALO_TIMES} : 1.0);
}`;

/**
 * Draws the mark and a growing ring. The texture contains the marks in its first row and the rings
 * in its second row.
 */
const FRAGMENT = `#version 300 es
precision highp float;
in float halo; in float mark;
uniform sampler2D marks;
out vec4 result;
vec4 read(float row, float times) {
  vec2 p = (gl_PointCoord - 0.5) * times + 0.5;
  vec4 colour = texture(marks, (vec2(mark, row) + clamp(p, 0.0, 1.0)) / vec2(${LOOKS.length}.0, 2.0));
  return p == clamp(p, 0.0, 1.0) ? colour : vec4(0.0);
}
void main() {
  result = read(0.0, halo > 0.0 ? ${HALO_TIMES} : 1.0);
  if (halo > 0.0) result += read(1.0, mix(1.0, ${HALO_TIMES}, halo)) * halo * (1.0 - result.a);
}`;

export type Points = ReturnType<typeof openPoints>;

export function openPoints(map: MapLibre, onFirstPaint: () => void) {
  /** The bicycles in the order of drawing; undefined before the first data. */
  let drawn: readonly PageBicycle[] | undefined;
  let isStale = true;
  let isUnpainted = true;
  let isPainted = false;
  let youngestMs = Number.NEGATIVE_INFINITY;
  let drawing: Drawing | undefined;
  const layer: CustomLayerInterface = {
    id: 'bicycles',
    type: 'custom',
    renderingMode: '2d',
    onAdd(_map, context) {
      drawing = openDrawing(context as WebGL2RenderingContext);
      isStale = true;
      isUnpainted = true;
    },
    render() {
      if (drawing === undefined || drawn === undefined) return;
      // The buffers are filled only here. At other times, MapLibre does not expect changes to the
      // WebGL state.
      if (isStale) fillBuffer(drawing, drawn);
      if (isUnpainted) fillMarks(drawing);
      isStale = false;
      isUnpainted = false;
      drawPoints(drawing, map, drawn.length);
      if (!isPainted) onFirstPaint();
      isPainted = true;
      if (!isStill() && performance.now() - youngestMs < HALO_MS) map.triggerRepaint();
    },
  };
  return {
    layer,
    /** Sets the visible bicycles. */
    show(shown: readonly PageBicycle[]) {
      const layers: PageBicycle[][] = LOOKS.map(() => []);
      for (const bicycle of shown) {
        layers[LOOKS.indexOf(pageLookOf(bicycle.state))]?.push(bicycle);
        youngestMs = Math.max(youngestMs, bicycle.changedMs);
      }
      drawn = layers.flat();
      isStale = true;
      map.triggerRepaint();
    },
    /** Redraws the state marks in the texture, because the colours changed. */
    paint() {
      isUnpainted = true;
      map.triggerRepaint();
    },
    /** Returns the bicycle drawn nearest to a pixel of the map, within a maximum distance. */
    nearest(pixelX: number, pixelY: number, withinPixels: number): PageBicycle | undefined {
      const { lng, lat } = map.unproject([pixelX, pixelY]);
      const [x, y] = [worldX(lng), mercatorY(lat)];
      let best = withinPixels / viewOf(map).worldDots;
      let found: PageBicycle | undefined;
      for (const bicycle of drawn ?? []) {
        const east = bicycle.x - x;
        const distance = Math.hypot(east - Math.round(east), bicycle.y - y);
        if (distance > best) continue;
        best = distance;
        found = bicycle;
      }
      return found;
    },
  };
}

type Drawing = ReturnType<typeof openDrawing>;

function openDrawing(gl: WebGL2RenderingContext) {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type) as WebGLShader;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) !== true)
    throw new Error(gl.getProgramInfoLog(program) ?? '');
  const [buffer, array, marks] = [gl.createBuffer(), gl.createVertexArray(), gl.createTexture()];
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  let offset = 0;
  for (const [name, length] of Object.entries(VERTEX_PARTS)) {
    const location = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, length, gl.FLOAT, false, VERTEX_FLOATS * 4, offset * 4);
    offset += length;
  }
  gl.bindVertexArray(null);
  return { gl, program, buffer, array, marks };
}

/** Draws the mark and the ring of each state into the texture. */
function fillMarks({ gl, marks }: Drawing): void {
  const canvas = new OffscreenCanvas(MARK_PIXELS * LOOKS.length, MARK_PIXELS * 2);
  const pen = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D;
  // The outlines are drawn in a square of 16 by 16 units.
  pen.scale(MARK_PIXELS / 16, MARK_PIXELS / 16);
  for (const look of LOOKS) {
    const outline = new Path2D(OUTLINES[look]);
    pen.lineWidth = 2.2;
    pen.strokeStyle = readColour('rim');
    pen.stroke(outline);
    pen.fillStyle = readColour(look);
    pen.fill(outline, 'evenodd');
    pen.lineWidth = 1.6;
    pen.strokeStyle = readColour(look);
    pen.stroke(new Path2D('M8 17.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13z'));
    pen.translate(16, 0);
  }
  gl.bindTexture(gl.TEXTURE_2D, marks);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, canvas);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
  gl.generateMipmap(gl.TEXTURE_2D);
}

function fillBuffer({ gl, buffer }: Drawing, shown: readonly PageBicycle[]): void {
  const data = new Float32Array(shown.length * VERTEX_FLOATS);
  for (const [index, { x, y, changedMs, state }] of shown.entries()) {
    const [highX, highY] = [Math.fround(x), Math.fround(y)];
    const changed = Math.max(changedMs - START_MS, -HALO_MS);
    data.set(
      [highX, highY, x - highX, y - highY, changed, LOOKS.indexOf(pageLookOf(state))],
      index * VERTEX_FLOATS,
    );
  }
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
}

function drawPoints({ gl, program, array, marks }: Drawing, map: MapLibre, count: number): void {
  const { x, y, worldDots } = viewOf(map);
  const { width, height } = extentOf(map);
  const at = (name: string) => gl.getUniformLocation(program, name);
  gl.bindVertexArray(array);
  gl.useProgram(program);
  gl.uniform2f(at('centreHigh'), Math.fround(x), Math.fround(y));
  gl.uniform2f(at('centreLow'), x - Math.fround(x), y - Math.fround(y));
  gl.uniform2f(at('scale'), (worldDots / width) * 2, (worldDots / height) * 2);
  // Points are larger when there is room, so that they are easy to click.
  gl.uniform1f(
    at('size'),
    pointPixels(map.getZoom()) * map.getPixelRatio() * (count < ROOMY ? 1.2 : 1),
  );
  gl.uniform1f(at('now'), isStill() ? Number.MAX_SAFE_INTEGER : performance.now() - START_MS);
  gl.bindTexture(gl.TEXTURE_2D, marks);
  gl.disable(gl.DEPTH_TEST);
  gl.disable(gl.STENCIL_TEST);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  const half = width / worldDots / 2;
  // The map repeats the world on both sides. The points are drawn once for each visible repetition.
  for (let turn = Math.floor(x - half); turn <= x + half; turn++) {
    gl.uniform1f(at('shift'), turn);
    gl.drawArrays(gl.POINTS, 0, count);
  }
  gl.bindVertexArray(null);
}

function isStill(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
