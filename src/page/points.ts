// Draws the bicycles as points: one buffer for all of them, so that 100,000 move as smoothly as ten.

import type { CustomLayerInterface, Map as MapLibre } from 'maplibre-gl';
import { worldX } from '../globe/projection.js';
import { mercatorY, type PageBicycle } from './fleet.js';
import { LOOKS, pageLookOf, readColour } from './looks.js';
import { extentOf, viewOf } from './view.js';

/** How long a change is shown by a halo. */
const HALO_MS = 1_800;
/** What a vertex of the buffer holds, and how many floats of it. */
const VERTEX_PARTS = { high: 2, low: 2, changed: 1 };
const VERTEX_FLOATS = 5;
const ROOMY = 3_000;

/*
 * A float holds a position to two metres, so each comes in two parts, and the difference to the middle of the map is taken before they
 * are put together.
 */
const VERTEX = `#version 300 es
in vec2 high; in vec2 low; in float changed;
uniform vec2 centreHigh; uniform vec2 centreLow; uniform vec2 scale; uniform float shift;
uniform float size; uniform float now;
out float halo; out float side;
void main() {
  vec2 away = (high - centreHigh) + (low - centreLow) + vec2(shift, 0.0);
  gl_Position = vec4(away.x * scale.x, -away.y * scale.y, 0.0, 1.0);
  halo = clamp(1.0 - (now - changed) / ${HALO_MS.toFixed(1)}, 0.0, 1.0);
  side = size * (halo > 0.0 ? 3.2 : 1.0);
  gl_PointSize = side;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in float halo; in float side;
uniform float size; uniform int shape; uniform vec3 fill; uniform vec3 rim;
out vec4 result;
float box(vec2 p, vec2 b) { vec2 d = abs(p) - b; return length(max(d, 0.0)) + min(max(d.x, d.y), 0.0); }
// Five tips at 0.8, the corners between at 0.36: how far beyond the edge that ends at the nearest tip.
float star(vec2 p) {
  float a = abs(mod(atan(p.x, -p.y) + 0.6283185, 1.256637) - 0.6283185);
  return dot(length(p) * vec2(cos(a), sin(a)) - vec2(0.8, 0.0), vec2(0.384, 0.9233));
}
void main() {
  vec2 p = (gl_PointCoord - 0.5) * side / size * 2.0;
  float r = length(p);
  vec2 q = vec2(p.x + p.y, p.y - p.x) * 0.70710678;
  float d;
  // In the order of LOOKS.
  if (shape == 0) d = min(box(p, vec2(0.66, 0.2)), box(p, vec2(0.2, 0.66)));
  else if (shape == 1) d = abs(r - 0.5) - 0.2;
  else if (shape == 2) d = r - 0.62;
  else if (shape == 3) d = max(abs(p.x) * 0.866 - (p.y - 0.1) * 0.5, p.y - 0.1) - 0.4;
  else if (shape == 4) d = box(q, vec2(0.54));
  else if (shape == 5) d = box(p, vec2(0.54));
  else if (shape == 6) d = star(p);
  else d = min(box(q, vec2(0.72, 0.2)), box(q, vec2(0.2, 0.72)));
  float soft = 2.0 / size;
  float inside = 1.0 - smoothstep(-soft, soft * 0.5, d);
  float edge = 1.0 - smoothstep(0.14 - soft, 0.14 + soft, d);
  float ringAt = mix(3.0, 0.9, halo);
  float glow = halo * 0.85 * (1.0 - smoothstep(0.0, 0.28, abs(r - ringAt)));
  float cover = max(edge * 0.96, glow);
  if (cover < 0.01) discard;
  vec3 shown = edge > 0.01 ? mix(rim, fill, inside) : fill;
  result = vec4(shown * cover, cover);
}`;

export function openPoints(map: MapLibre, onFirstPaint: () => void) {
  /** By their looks, in the order in which they are drawn; undefined before any are known. */
  let layers: readonly PageBicycle[][] | undefined;
  let count = 0;
  let isStale = true;
  let isPainted = false;
  let youngestMs = Number.NEGATIVE_INFINITY;
  let draw = () => {};
  const startMs = performance.now();

  const dataOf = (shown: readonly PageBicycle[]) => {
    const data = new Float32Array(shown.length * VERTEX_FLOATS);
    for (const [index, { x, y, changedMs }] of shown.entries()) {
      const [highX, highY] = [Math.fround(x), Math.fround(y)];
      youngestMs = Math.max(youngestMs, changedMs);
      data.set([highX, highY, x - highX, y - highY, Math.max(changedMs - startMs, -HALO_MS)], index * VERTEX_FLOATS);
    }
    return data;
  };

  const openDrawing = (gl: WebGL2RenderingContext) => {
    const program = link(gl);
    const buffer = gl.createBuffer();
    const array = gl.createVertexArray();
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
    const at = (name: string) => gl.getUniformLocation(program, name);
    return () => {
      gl.bindVertexArray(array);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      if (isStale) gl.bufferData(gl.ARRAY_BUFFER, dataOf((layers ?? []).flat()), gl.DYNAMIC_DRAW);
      isStale = false;
      const { x, y, worldDots } = viewOf(map);
      const { width, height } = extentOf(map);
      gl.useProgram(program);
      gl.uniform2f(at('centreHigh'), Math.fround(x), Math.fround(y));
      gl.uniform2f(at('centreLow'), x - Math.fround(x), y - Math.fround(y));
      gl.uniform2f(at('scale'), (worldDots / width) * 2, (worldDots / height) * 2);
      // Where there is room for it, a point is large enough to hit.
      gl.uniform1f(at('size'), pointPixels(map.getZoom()) * map.getPixelRatio() * (count < ROOMY ? 1.2 : 1));
      gl.uniform1f(at('now'), isStill() ? Number.MAX_SAFE_INTEGER : performance.now() - startMs);
      gl.uniform3fv(at('rim'), rgbOf(readColour('rim')));
      gl.disable(gl.DEPTH_TEST);
      gl.disable(gl.STENCIL_TEST);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      const half = width / worldDots / 2;
      let first = 0;
      for (const [shape, shown] of (layers ?? []).entries()) {
        gl.uniform1i(at('shape'), shape);
        gl.uniform3fv(at('fill'), rgbOf(readColour(LOOKS[shape] ?? 'other')));
        // The world again at its sides, where they are in sight.
        for (let turn = Math.floor(x - half); shown.length > 0 && turn <= x + half; turn++) {
          gl.uniform1f(at('shift'), turn);
          gl.drawArrays(gl.POINTS, first, shown.length);
        }
        first += shown.length;
      }
      gl.bindVertexArray(null);
    };
  };

  const layer: CustomLayerInterface = {
    id: 'bicycles',
    type: 'custom',
    renderingMode: '2d',
    onAdd(_map, context) {
      draw = openDrawing(context as WebGL2RenderingContext);
      isStale = true;
    },
    render() {
      draw();
      if (!isPainted && layers !== undefined) {
        isPainted = true;
        onFirstPaint();
      }
      if (!isStill() && performance.now() - youngestMs < HALO_MS) map.triggerRepaint();
    },
  };

  return {
    layer,
    /** The bicycles to draw; everything else is hidden. */
    show(shown: readonly PageBicycle[]) {
      layers = LOOKS.map(() => []);
      for (const bicycle of shown) layers[LOOKS.indexOf(pageLookOf(bicycle.state))]?.push(bicycle);
      count = shown.length;
      isStale = true;
      map.triggerRepaint();
    },
    /** The nearest drawn point within so many pixels of one of the map's. */
    nearest(pixelX: number, pixelY: number, withinPixels: number): PageBicycle | undefined {
      const { lng, lat } = map.unproject([pixelX, pixelY]);
      const [x, y] = [worldX(lng), mercatorY(lat)];
      let best = withinPixels / viewOf(map).worldDots;
      let found: PageBicycle | undefined;
      for (const bicycle of layers?.flat() ?? []) {
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

/** `#58a6ff` as red, green and blue from 0 to 1. */
function rgbOf(colour: string): readonly [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

function isStill(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

/** Points grow as the map comes nearer. */
export function pointPixels(zoom: number): number {
  return Math.max(8, Math.min(22, 8 + (zoom - 9) * 1.5));
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type);
    if (shader === null) throw new Error('the browser gives no shader');
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (gl.getShaderParameter(shader, gl.COMPILE_STATUS) !== true) throw new Error(gl.getShaderInfoLog(shader) ?? '');
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (gl.getProgramParameter(program, gl.LINK_STATUS) !== true) throw new Error(gl.getProgramInfoLog(program) ?? '');
  return program;
}
